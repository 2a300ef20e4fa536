import { z } from 'zod';
import type { RowOf } from '@baton/kernel/database/row';
import { Timestamp, valuesByName } from '@baton/values/wire';
import type { Tables } from '../../service/schema.ts';
import { ChannelStatus } from '../channels.ts';
import { addressOf } from '../email-address.ts';
import { kindNames, Modes, modesOf, type StoredModes } from '../kinds.ts';

export const digestSeconds = { min: 900, usual: 86_400, max: 604_800 };
const kindsMax = 100;
const kindCharactersMax = 100;

const kindName = z.string().min(1).max(kindCharactersMax);
const digestIntervalSeconds = z
  .int()
  .min(digestSeconds.min)
  .max(digestSeconds.max)
  .meta({ description: 'How long notifications are collected for a digest, from the first one on.' });

/** How the caller is notified. See docs/reference/notifications.md#preferences. */
export const NotificationPreferences = z
  .strictObject({
    email: z.strictObject({
      address: z.string().nullable().meta({ description: 'Null if there is no usable address.' }),
      source: z.enum(['own', 'profile']).nullable(),
    }),
    kinds: z.record(z.string(), Modes).meta({ description: 'By kind. There may be more kinds later.' }),
    digestIntervalSeconds,
    slackWebhook: z
      .strictObject({ host: z.string(), updatedAt: Timestamp })
      .nullable()
      .meta({ description: 'The own webhook. Its address is never returned.' }),
    channels: z.strictObject({ mail: ChannelStatus, slack: ChannelStatus }),
    version: z.int().nonnegative().meta({ description: '0 for preferences that were never stored.' }),
  })
  .meta({ id: 'NotificationPreferences' });
export type NotificationPreferences = z.infer<typeof NotificationPreferences>;

/** Replaces the preferences as a whole: anything missing gets its default. */
export const NotificationPreferencesChange = z
  .strictObject({
    email: z.string().max(320).nullable().default(null).meta({
      description: "The address of the notifications; null for that of the principal's profile.",
    }),
    kinds: valuesByName(kindName, Modes.partial(), kindsMax).default({}),
    digestIntervalSeconds: digestIntervalSeconds.default(digestSeconds.usual),
  })
  .meta({ id: 'NotificationPreferencesChange' });
export type NotificationPreferencesChange = z.output<typeof NotificationPreferencesChange>;

export type PreferencesRow = RowOf<Tables['notification_preferences'], { modes: StoredModes }>;

/** A person's stored preferences, with the related values from other tables. */
export interface OwnPreferencesRow {
  email: string | null;
  profile_email: string | null;
  modes: StoredModes;
  digest_interval_seconds: number;
  version: number;
  webhook_host: string | null;
  webhook_updated_at: string | null;
}

export function preferencesOf(
  row: OwnPreferencesRow,
  domains: readonly string[],
  channels: NotificationPreferences['channels'],
): NotificationPreferences {
  const { webhook_host: host, webhook_updated_at: updatedAt } = row;
  return {
    email: addressOf(row, domains),
    kinds: Object.fromEntries(kindNames.map((kind) => [kind, modesOf(row.modes, kind)])),
    digestIntervalSeconds: row.digest_interval_seconds,
    slackWebhook: host === null || updatedAt === null ? null : { host, updatedAt },
    channels,
    version: row.version,
  };
}
