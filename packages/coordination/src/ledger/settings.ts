import { flag, integer, type SettingValues, text } from '@baton/kernel/process/config';

const seconds = 'seconds';

/** The settings that this layer reads. */
export const settings = {
  CP_SINKS_FILE: text({
    default: '',
    doc: 'The JSON file that names where the worker delivers events to: webhooks, NATS JetStream, the log. Empty: nowhere.',
  }),
  CP_OUTBOX_ENABLED: flag({
    default: true,
    doc: 'Whether each event is also written for delivery to sinks. Without CP_SINKS_FILE nothing needs that, and false saves a row per event.',
  }),
  CP_OUTBOX_BATCH_SIZE: integer({
    default: 50,
    min: 1,
    max: 1000,
    unit: 'events',
    doc: 'Events delivered in one step.',
  }),
  CP_OUTBOX_MAX_ATTEMPTS: integer({
    default: 8,
    min: 1,
    unit: 'attempts',
    doc: 'Attempts before an event is set aside.',
  }),
  CP_OUTBOX_LOCK_TIMEOUT_SECONDS: integer({
    default: 60,
    min: 1,
    unit: seconds,
    doc: 'After this another worker tries a delivery; it has failed after half of that, at most 10 s.',
  }),
  CP_OUTBOX_BACKOFF_BASE_SECONDS: integer({
    default: 2,
    min: 1,
    unit: seconds,
    doc: 'The first wait after a failed delivery; it doubles.',
  }),
  CP_OUTBOX_BACKOFF_MAX_SECONDS: integer({
    default: 300,
    min: 1,
    unit: seconds,
    doc: 'The longest wait after a failed delivery.',
  }),
  CP_OUTBOX_DROPPED_AGE_SECONDS: integer({
    default: 604_800,
    min: 1,
    max: 31_536_000,
    unit: seconds,
    doc: 'A delivery that an operator dropped is forgotten after this; until then a repeated drop is a no-op.',
  }),
  CP_JOURNAL_RETENTION_MIN_AGE_SECONDS: integer({
    default: 2_592_000,
    max: 100_000_000_000,
    unit: seconds,
    doc: 'How old an event is at least before it is archived or pruned, unless the call says otherwise.',
  }),
  CP_JOURNAL_ARCHIVE_INTERVAL_SECONDS: integer({
    default: 0,
    max: 31_536_000,
    unit: seconds,
    doc: 'How often the worker archives the history of each tenant; 0 is never. Nothing is pruned by itself.',
  }),
};

export type Settings = SettingValues<typeof settings>;
