import type { Pool } from '@baton/kernel/database/db';
import type { Logger } from '@baton/kernel/process/log';
import type { SecretStore } from '../../access/secret-store/secret-store.ts';
import type { JournalEvent } from '../../ledger/journal/event.ts';
import type { Sink } from '../../ledger/sinks/sink.ts';
import type { Settings } from '../settings.ts';
import type { TargetTools } from './attempt-target.ts';
import type { Bound } from './deliveries.sql.ts';

/** What the channels use. */
export interface ChannelTools {
  readonly pool: Pool;
  readonly log: Logger;
  readonly settings: Settings;
  readonly secrets: SecretStore;
}

/** Names that no entry of CP_SINKS_FILE can have. */
export const sinkNames = { mail: 'baton:mail', slack: 'baton:slack' } as const;

const deliverMsMax = 20_000;

/**
 * The bounds of a sink that sends to people. One event per delivery, and half of the places for one tenant, so that a
 * tenant's backlog doesn't delay others.
 */
export function commonOf(settings: Settings, channel: keyof typeof sinkNames, concurrency: number) {
  const timeoutMs = Math.min(deliverMsMax, settings.CP_OUTBOX_LOCK_TIMEOUT_SECONDS * 500);
  return {
    sink: {
      name: sinkNames[channel],
      concurrency,
      tenantConcurrency: Math.max(1, Math.floor(concurrency / 2)),
      eventsMax: 1,
      timeoutMs,
    } satisfies Partial<Sink>,
    bounds: {
      channel,
      beginMsMax: timeoutMs * 0.4,
      sendMsMax: Math.min(settings.CP_SMTP_TIMEOUT_SECONDS * 1000, timeoutMs * 0.5),
      attemptsMax: settings.CP_OUTBOX_MAX_ATTEMPTS,
      pauses: {
        baseSeconds: settings.CP_OUTBOX_BACKOFF_BASE_SECONDS,
        maxSeconds: settings.CP_OUTBOX_BACKOFF_MAX_SECONDS,
      },
    } satisfies Partial<TargetTools>,
  };
}

/** The maximum number of messages about notices to an address or a person's webhook in an hour. */
export function hourlyBoundOf({ CP_NOTIFICATIONS_HOURLY_MAX: messagesMax }: Settings): Bound {
  return { messagesMax, seconds: 3600, kind: null };
}

export function publicUrlOf({ CP_PUBLIC_URL: url }: Settings): string {
  return url.replace(/\/+$/, '');
}

export function warnOfMore({ log, settings }: ChannelTools, { id, type }: JournalEvent): void {
  const { CP_NOTIFICATIONS_RECIPIENTS_MAX: recipientsMax } = settings;
  log.warn({ eventId: id, type, recipientsMax }, 'an event concerns more people than are notified of one');
}
