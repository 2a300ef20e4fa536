import { choice, flag, integer, list, readSettings, type SettingValues, text } from '@baton/kernel/config';

const seconds = 'seconds';

/** Every setting of coordination (coordination-core, section 20). Read here and nowhere else. */
export const settingTable = {
  CP_ENV: text({ default: 'dev', doc: 'A name for this installation, shown in the log.' }),
  CP_HOST: text({ default: '127.0.0.1', doc: 'The address that `baton coordination serve` listens on.' }),
  CP_PORT: integer({ default: 8000, min: 0, max: 65535, doc: 'The port of `baton coordination serve`.' }),
  CP_DATABASE_URL: text({
    default: 'postgresql://cp:cp@localhost:5432/cp',
    doc: 'The PostgreSQL database (15 or later) of coordination.',
    secret: true,
  }),
  CP_DATABASE_LISTEN_URL: text({
    default: '',
    doc: 'The same database past a pooler in transaction mode, on which nobody can listen; empty is CP_DATABASE_URL.',
    secret: true,
  }),
  CP_DATABASE_CONNECTIONS_MAX: integer({
    default: 20,
    min: 1,
    max: 1000,
    unit: 'connections',
    doc: 'Connections to the database per process at most.',
  }),
  CP_LOG_LEVEL: choice(['debug', 'info', 'warn', 'error'], {
    default: 'info',
    doc: 'The least severe line that is logged.',
  }),
  CP_BOOTSTRAP_TOKEN: text<string | undefined>({
    default: undefined,
    secret: true,
    doc: 'The secret that makes the first tenant; unset closes POST /bootstrap.',
  }),
  CP_CORS_ORIGINS: list({ default: [], doc: 'Origins of web pages that may call; empty turns CORS off.' }),
  CP_MAX_BODY_BYTES: integer({ default: 1_048_576, min: 1024, unit: 'bytes', doc: 'The largest JSON body.' }),
  CP_SESSION_TTL_SECONDS: integer({
    default: 300,
    min: 1,
    unit: seconds,
    doc: 'The lease of a session that asks for none.',
  }),
  CP_SESSION_TTL_MIN_SECONDS: integer({
    default: 10,
    min: 1,
    unit: seconds,
    doc: 'The shortest lease of a session.',
  }),
  CP_SESSION_TTL_MAX_SECONDS: integer({
    default: 3600,
    min: 1,
    unit: seconds,
    doc: 'The longest lease of a session.',
  }),
  CP_CLAIM_TTL_SECONDS: integer({
    default: 300,
    min: 1,
    unit: seconds,
    doc: 'The lease of a claim that asks for none.',
  }),
  CP_CLAIM_TTL_MIN_SECONDS: integer({
    default: 10,
    min: 1,
    unit: seconds,
    doc: 'The shortest lease of a claim.',
  }),
  CP_CLAIM_TTL_MAX_SECONDS: integer({
    default: 3600,
    min: 1,
    unit: seconds,
    doc: 'The longest lease of a claim.',
  }),
  CP_IDEMPOTENCY_TTL_SECONDS: integer({
    default: 86_400,
    min: 1,
    unit: seconds,
    doc: 'How long an answer is kept under its key.',
  }),
  CP_IDEMPOTENCY_WAIT_TIMEOUT_SECONDS: integer({
    default: 10,
    min: 1,
    unit: seconds,
    doc: 'How long a parallel duplicate waits for the first.',
  }),
  CP_IDEMPOTENCY_PENDING_TTL_SECONDS: integer({
    default: 60,
    min: 1,
    unit: seconds,
    doc: 'An unfinished command whose program fell silent is rolled back after this, which frees its key.',
  }),
  CP_STATEMENT_TIMEOUT_SECONDS: integer({
    default: 10,
    min: 1,
    unit: seconds,
    doc: 'The longest a statement may run.',
  }),
  CP_WS_POLL_INTERVAL_SECONDS: integer({
    default: 5,
    min: 1,
    unit: seconds,
    doc: 'How often an open stream looks for events, and for lost rights, without being woken.',
  }),
  CP_MAX_WS_PER_PRINCIPAL: integer({
    default: 0,
    unit: 'streams',
    doc: 'Open streams of one principal at most; 0 is no bound.',
  }),
  CP_WORKER_POLL_INTERVAL_SECONDS: integer({
    default: 1,
    min: 1,
    unit: seconds,
    doc: 'The pause between two cycles of the worker.',
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
    doc: 'How long a worker may take over a delivery; then another one tries.',
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
  CP_API_KEY_LAST_USED_REFRESH_SECONDS: integer({
    default: 60,
    min: 0,
    unit: seconds,
    doc: 'How old the recorded last use of a key may be before it is written again.',
  }),
  CP_IAM_ISSUER: text({ default: '', doc: 'The `iss` of admitted tokens, character by character.' }),
  CP_IAM_JWKS_URL: text({ default: '', doc: 'Where identity publishes its key.' }),
  CP_IAM_AUDIENCE: text({ default: 'control-plane', doc: 'The one audience of admitted tokens.' }),
  CP_IAM_ENABLED: text({
    default: '',
    doc: 'No switch: `true` without issuer and key address stops the start, `false` beside both is ignored with a warning.',
  }),
  CP_IAM_LEEWAY_SECONDS: integer({ default: 5, max: 60, unit: seconds, doc: 'How far clocks may differ.' }),
  CP_IAM_REQUEST_TIMEOUT_SECONDS: integer({
    default: 3,
    min: 1,
    unit: seconds,
    doc: 'The longest wait for the key document.',
  }),
  CP_IAM_JWKS_REFRESH_AFTER_SECONDS: integer({
    default: 300,
    min: 1,
    unit: seconds,
    doc: 'The age at which keys are fetched again.',
  }),
  CP_IAM_JWKS_STALE_AFTER_SECONDS: integer({
    default: 3600,
    min: 1,
    unit: seconds,
    doc: 'The age up to which keys serve while their source is out of reach.',
  }),
  CP_IAM_JWKS_MIN_REFRESH_INTERVAL_SECONDS: integer({
    default: 10,
    min: 0,
    unit: seconds,
    doc: 'The pause between two fetches caused by unknown key ids.',
  }),
  CP_IAM_BINDING_CACHE_TTL_SECONDS: integer({
    default: 30,
    min: 0,
    unit: seconds,
    doc: 'How long a binding is used without reading it again.',
  }),
  CP_IAM_BINDING_STALE_AFTER_SECONDS: integer({
    default: 120,
    min: 0,
    unit: seconds,
    doc: 'How long a binding serves while it cannot be read again, and how long its absence is remembered.',
  }),
  CP_LEGACY_API_KEYS_ENABLED: flag({
    default: false,
    doc: 'Whether keys of the form cp_<prefix>_<secret> are admitted.',
  }),
  CP_BREAK_GLASS_ENABLED: flag({
    default: true,
    doc: 'Whether emergency keys may be issued and are admitted.',
  }),
  CP_BREAK_GLASS_MAX_TTL_SECONDS: integer({
    default: 14_400,
    min: 60,
    unit: seconds,
    doc: 'The longest life of an emergency key.',
  }),
  CP_AUTHZ_MODE: choice(['local'], { default: 'local', doc: 'Who decides: the permissions held here.' }),
  CP_RATE_LIMIT_PER_PRINCIPAL_RPS: integer({
    default: 0,
    unit: 'requests per second',
    doc: 'Requests of one principal; 0 is no bound.',
  }),
  CP_RATE_LIMIT_PER_PRINCIPAL_BURST: integer({
    default: 0,
    unit: 'requests',
    doc: 'Requests of one principal at once; 0 is the rate.',
  }),
};

export type Settings = SettingValues<typeof settingTable>;

/**
 * Reads the settings and refuses combinations that could only fail later.
 * @throws Error with one sentence
 */
export function readCoordinationSettings(env: Readonly<Record<string, string | undefined>>): Settings {
  const settings = readSettings(settingTable, env);
  const { CP_IAM_ISSUER: issuer, CP_IAM_JWKS_URL: jwksUrl } = settings;
  if ((issuer === '') !== (jwksUrl === ''))
    throw new Error('CP_IAM_ISSUER and CP_IAM_JWKS_URL are set together or not at all.');
  if (settings.CP_IAM_ENABLED.trim().toLowerCase() === 'true' && issuer === '')
    throw new Error('CP_IAM_ENABLED needs CP_IAM_ISSUER and CP_IAM_JWKS_URL.');
  for (const kind of ['CP_SESSION', 'CP_CLAIM'] as const) {
    const { min, usual, max } = leaseBounds(settings, kind);
    if (min > usual || usual > max)
      throw new Error(
        `${kind}_TTL_SECONDS lies between ${kind}_TTL_MIN_SECONDS and ${kind}_TTL_MAX_SECONDS.`,
      );
  }
  return settings;
}

/** The shortest, the usual and the longest lease of a session or a claim, in seconds. */
export function leaseBounds(settings: Settings, kind: 'CP_SESSION' | 'CP_CLAIM') {
  return {
    min: settings[`${kind}_TTL_MIN_SECONDS`],
    usual: settings[`${kind}_TTL_SECONDS`],
    max: settings[`${kind}_TTL_MAX_SECONDS`],
  };
}
