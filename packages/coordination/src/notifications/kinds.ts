import { z } from 'zod';

export const mailModes = ['off', 'immediate', 'digest'] as const;
export const slackModes = ['off', 'immediate'] as const;

/** How somebody is notified of one kind. */
export const Modes = z
  .strictObject({
    mail: z.enum(mailModes).meta({ description: '`digest` collects notifications into one e-mail.' }),
    slack: z.enum(slackModes).meta({ description: 'For the own webhook.' }),
  })
  .meta({ id: 'NotificationModes' });
export type Modes = z.infer<typeof Modes>;

interface Kind {
  /** As used in a sentence: "You get no more e-mail about …". */
  readonly about: string;
  readonly usual: Modes;
}

/**
 * What people are notified of. A new kind needs an entry here and its events in `notices/find-notice.ts`; stored
 * preferences don't change.
 */
export const notificationKinds = {
  'decision.requested': {
    about: 'decisions that wait for you',
    usual: { mail: 'immediate', slack: 'immediate' },
  },
  'task.assigned': { about: 'tasks assigned to you', usual: { mail: 'digest', slack: 'immediate' } },
  mention: { about: 'texts that mention you', usual: { mail: 'immediate', slack: 'immediate' } },
  'control_message.received': {
    about: 'control messages to your runs',
    usual: { mail: 'digest', slack: 'immediate' },
  },
} as const satisfies Readonly<Record<string, Kind>>;

export type NotificationKind = keyof typeof notificationKinds;
export const kindNames = Object.keys(notificationKinds) as NotificationKind[];

export function isKind(name: string): name is NotificationKind {
  return Object.hasOwn(notificationKinds, name);
}

/** The stored choices; kinds and channels that are absent have their defaults. */
export type StoredModes = Readonly<Record<string, Partial<Modes> | undefined>>;

export function modesOf(stored: StoredModes, kind: NotificationKind): Modes {
  return { ...notificationKinds[kind].usual, ...stored[kind] };
}
