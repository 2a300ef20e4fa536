import { docsBaseUrl } from '@baton/kernel/http/error-docs';
import { networks } from '@baton/kernel/listener/client-address';
import {
  choice,
  flag,
  integer,
  list,
  readSettings,
  type SettingValues,
  text,
} from '@baton/kernel/process/config';
import { checkEntitlementSettings } from '../access/entitlement/licence-service.ts';
import { checkPolicySettings } from '../access/policy/policy-settings.ts';
import { checkSecretStoreSettings } from '../access/secret-store/open-secret-store.ts';
import { leaseBounds } from '../leases/lease-bounds.ts';
import { checkMemorySettings } from '../memory/gateway/memory-settings.ts';
import { settings as lowerSettings } from '../processes/settings.ts';
import { checkContentSettings } from '../results/contents/open-store.ts';

const seconds = 'seconds';

/** Every setting of coordination (coordination-core, section 20): those of this layer, and of those below it. */
export const settings = {
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
  CP_TRUSTED_PROXIES: networks({
    doc: 'Networks of the proxies in front, for instance `["10.0.0.0/8"]`: the address of a client, for limits and the log, is then the last one in `X-Forwarded-For` that is none of theirs. Without it the header is ignored. Name no network from which clients connect directly.',
  }),
  CP_DATABASE_NAMED_STATEMENTS: flag({
    default: true,
    doc: 'Whether statements are prepared under names; false for a pooler in transaction mode before PgBouncer 1.21.',
  }),
  CP_LOG_LEVEL: choice(['debug', 'info', 'warn', 'error'], {
    default: 'info',
    doc: 'The least severe line that is logged.',
  }),
  CP_DOCS_BASE_URL: docsBaseUrl(),
  CP_CORS_ORIGINS: list({ default: [], doc: 'Origins of web pages that may call; empty turns CORS off.' }),
  CP_MAX_BODY_BYTES: integer({ default: 1_048_576, min: 1024, unit: 'bytes', doc: 'The largest JSON body.' }),
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
    default: 500,
    unit: 'streams',
    doc: 'Open streams that one principal may have in one process; 0 is no limit.',
  }),
  CP_MAX_WS_PER_PROCESS: integer({
    default: 15_000,
    min: 1,
    unit: 'streams',
    doc: 'Open streams of one process at most; it takes 18,000 connections in all, as far as its limit of open files goes.',
  }),
  CP_WORKER_POLL_INTERVAL_SECONDS: integer({
    default: 1,
    min: 1,
    unit: seconds,
    doc: 'The pause between two cycles of the worker.',
  }),
  CP_WORKER_METRICS_PORT: integer({
    default: 0,
    min: 0,
    max: 65535,
    doc: 'The port on which `baton worker` serves `/metrics`, `/health/live` and `/health/ready`, on the address CP_HOST; 0 serves none. In the default run `/metrics` of coordination counts what its worker does, too.',
  }),
  CP_CONTEXT_ADAPTER_METRICS_PORT: integer({
    default: 8001,
    min: 0,
    max: 65535,
    doc: 'The port on which `baton context-adapter` serves `/metrics`, `/health/live` and `/health/ready`, on the address CP_HOST; 0 serves none. Several on one machine need one each. The default run has none: `/metrics` of coordination has the same figures.',
  }),
  ...lowerSettings,
};

export type Settings = SettingValues<typeof settings>;

/**
 * Reads the settings and refuses combinations that could only fail later.
 * @throws Error with one sentence
 */
export function readCoordinationSettings(env: Readonly<Record<string, string | undefined>>): Settings {
  const values = readSettings(settings, env);
  const { CP_IAM_ISSUER: issuer, CP_IAM_JWKS_URL: jwksUrl } = values;
  if ((issuer === '') !== (jwksUrl === ''))
    throw new Error('CP_IAM_ISSUER and CP_IAM_JWKS_URL are set together or not at all.');
  if (values.CP_IAM_ENABLED.trim().toLowerCase() === 'true' && issuer === '')
    throw new Error('CP_IAM_ENABLED needs CP_IAM_ISSUER and CP_IAM_JWKS_URL.');
  for (const kind of ['CP_SESSION', 'CP_CLAIM'] as const) {
    const { min, usual, max } = leaseBounds(values, kind);
    if (min > usual || usual > max)
      throw new Error(
        `${kind}_TTL_SECONDS lies between ${kind}_TTL_MIN_SECONDS and ${kind}_TTL_MAX_SECONDS.`,
      );
  }
  if (values.CP_SINKS_FILE !== '' && !values.CP_OUTBOX_ENABLED)
    throw new Error(
      'CP_SINKS_FILE needs CP_OUTBOX_ENABLED: what is not written for delivery reaches no sink.',
    );
  checkContentSettings(values);
  checkMemorySettings(values);
  checkEntitlementSettings(values);
  checkPolicySettings(values);
  checkSecretStoreSettings(values);
  return values;
}
