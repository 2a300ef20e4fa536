import { flag, integer, type SettingValues, text } from '@baton/kernel/process/config';

const seconds = 'seconds';

/** The settings of this layer. */
export const settings = {
  CP_SINKS_FILE: text({
    default: '',
    doc: 'The JSON file of the sinks to which the worker delivers events: webhooks, NATS JetStream, the log. Empty: none.',
  }),
  CP_OUTBOX_ENABLED: flag({
    default: true,
    doc: 'Whether events are also written to the outbox for delivery to sinks. Without CP_SINKS_FILE this is unnecessary, and false saves a row per event.',
  }),
  CP_OUTBOX_BATCH_SIZE: integer({
    default: 50,
    min: 1,
    max: 1000,
    unit: 'events',
    doc: 'Events per delivery batch.',
  }),
  CP_OUTBOX_MAX_ATTEMPTS: integer({
    default: 8,
    min: 1,
    unit: 'attempts',
    doc: 'Delivery attempts before an event becomes a dead letter.',
  }),
  CP_OUTBOX_LOCK_TIMEOUT_SECONDS: integer({
    default: 60,
    min: 1,
    unit: seconds,
    doc: 'The time after which another worker may retry a delivery; a delivery times out after half of that, at most 10 s.',
  }),
  CP_OUTBOX_BACKOFF_BASE_SECONDS: integer({
    default: 2,
    min: 1,
    unit: seconds,
    doc: 'The first delay after a failed delivery; it doubles with each further failure.',
  }),
  CP_OUTBOX_BACKOFF_MAX_SECONDS: integer({
    default: 300,
    min: 1,
    unit: seconds,
    doc: 'The longest delay after a failed delivery.',
  }),
  CP_OUTBOX_DROPPED_AGE_SECONDS: integer({
    default: 604_800,
    min: 1,
    max: 31_536_000,
    unit: seconds,
    doc: 'The time for which the record of a dropped delivery is stored; until then a repeated drop is a no-op.',
  }),
  CP_JOURNAL_RETENTION_MIN_AGE_SECONDS: integer({
    default: 2_592_000,
    max: 100_000_000_000,
    unit: seconds,
    doc: 'The minimum age at which an event may be archived or pruned, unless the request specifies another.',
  }),
  CP_JOURNAL_ARCHIVE_INTERVAL_SECONDS: integer({
    default: 0,
    max: 31_536_000,
    unit: seconds,
    doc: 'The interval at which the worker archives the history of each tenant; 0 disables it. Pruning is never automatic.',
  }),
};

export type Settings = SettingValues<typeof settings>;
