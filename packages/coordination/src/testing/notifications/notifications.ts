import { randomBytes } from 'node:crypto';
import { createLog } from '@baton/kernel/process/log';
import { keepName, keepSecret } from '@baton/kernel/testing/leaks/leaks';
import { readKeyFile } from '../../access/secret-store/sealing-keys.ts';
import { startWorker } from '../../app/worker.ts';
import type { Unsubscription } from '../../notifications/unsubscribe/unsubscribe-links.ts';
import { linksOf } from '../../notifications/unsubscribe/unsubscribe-links.ts';
import type { Actor, ActorOptions, Answer, TestCoordination } from '../coordination.ts';
import { done } from '../leases.ts';
import { journalWaitMsMax } from '../ledger/journal-writer.ts';
import { until } from '../wait-until.ts';

export const publicUrl = 'https://baton.example';

/** The address of a webhook that the leak test searches for. @param url by default one that leads nowhere */
export function webhookAddress(url = 'https://hooks.slack.com/services'): string {
  const secret = randomBytes(18).toString('base64url');
  keepSecret('address of a webhook', secret);
  return `${url}/${secret}`;
}

let mailboxes = 0;

/** An e-mail address that the leak test searches for in logs and the journal. */
export function mailAddress(): string {
  mailboxes += 1;
  const address = `${randomBytes(9).toString('hex')}-mailbox-${mailboxes}@people.example`;
  keepName('e-mail address', address);
  return address;
}

/** The settings with which a worker sends to a test server. */
export function smtpSettings({ port }: { port: number }): Record<string, string> {
  return {
    CP_SMTP_HOST: '127.0.0.1',
    CP_SMTP_PORT: String(port),
    CP_SMTP_TLS: 'none',
    CP_SMTP_TIMEOUT_SECONDS: '2',
    CP_MAIL_FROM: 'Baton <baton@service.example>',
    CP_PUBLIC_URL: publicUrl,
  };
}

/** A link's token, signed with the key of this Baton. */
export function unsubscribeToken(baton: TestCoordination, unsubscription: Unsubscription): string {
  const file = baton.env['CP_SECRET_STORE_KEY_FILE'] as string;
  return linksOf(readKeyFile(file, 'CP_SECRET_STORE_KEY_FILE')).sign(unsubscription);
}

export interface Addressee extends Actor {
  readonly address: string;
}

/** Replaces the preferences of a person, whatever their version. */
export async function putPreferences(actor: Actor, preferences: object): Promise<Answer> {
  const path = '/notifications/preferences';
  const { version } = await done(actor.get(path));
  return actor.put(path, preferences, { 'if-match': `"notification_preferences-${version}"` });
}

/** A person with an e-mail address of their own choice. @param preferences further preferences */
export async function makeAddressee(
  baton: TestCoordination,
  { preferences = {}, ...options }: ActorOptions & { preferences?: object } = {},
): Promise<Addressee> {
  const actor = await baton.actor({
    kind: 'human',
    permissions: ['approvals.decide', 'tasks.read'],
    ...options,
  });
  const address = mailAddress();
  await done(putPreferences(actor, { email: address, ...preferences }));
  return { ...actor, address };
}

export interface LoggedWorker {
  /** The lines of the worker's log. */
  readonly lines: readonly string[];
  close(): Promise<void>;
}

/** A worker that sends notifications. */
export async function startSender(env: Record<string, string>): Promise<LoggedWorker> {
  const lines: string[] = [];
  const log = createLog({
    name: 'worker',
    level: 'info',
    destination: { write: (line) => lines.push(line) },
  });
  const worker = await startWorker({ env, log });
  let closed: Promise<void> | undefined;
  return {
    lines,
    close() {
      closed ??= worker.close();
      return closed;
    },
  };
}

/**
 * Waits for the result of a notification. Notifications are read from the journal, where a transaction of any other test
 * can hold back events.
 */
export const untilNotified = (holds: () => boolean | Promise<boolean>, what?: string) =>
  until(holds, what, journalWaitMsMax);
