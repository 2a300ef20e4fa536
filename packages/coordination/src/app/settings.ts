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
import { checkNotificationSettings } from '../notifications/delivery/open-notifications.ts';
import { settings as lowerSettings } from '../notifications/settings.ts';
import { checkContentSettings } from '../results/contents/open-store.ts';

const seconds = 'seconds';

/** Every setting of coordination: those of this layer and of the layers below it. See docs/configuration.md. */
export const settings = {
  CP_ENV: text({ default: 'dev', doc: 'The name of this installation in the log.' }),
  CP_HOST: text({ default: '127.0.0.1', doc: 'The address that `baton coordination serve` listens on.' }),
  CP_PORT: integer({ default: 8000, min: 0, max: 65535, doc: 'The port of `baton coordination serve`.' }),
  CP_DATABASE_URL: text({
    default: 'postgresql://cp:cp@localhost:5432/cp',
    doc: "Coordination's PostgreSQL database (15 or later).",
    secret: true,
  }),
  CP_DATABASE_LISTEN_URL: text({
    default: '',
    doc: 'The same database without a pooler in transaction mode, because LISTEN needs a session; empty uses CP_DATABASE_URL.',
    secret: true,
  }),
  CP_DATABASE_CONNECTIONS_MAX: integer({
    default: 20,
    min: 1,
    max: 1000,
    unit: 'connections',
    doc: 'The maximum number of database connections of a process.',
  }),
  CP_TRUSTED_PROXIES: networks({
    doc: 'Networks of trusted proxies, for instance `["10.0.0.0/8"]`: a client\'s address, for limits and the log, is then the last one in `X-Forwarded-For` outside of these networks. Without it the header is ignored. Don\'t list networks from which clients connect directly.',
  }),
  CP_DATABASE_NAMED_STATEMENTS: flag({
    default: true,
    doc: 'Whether to use named prepared statements. Set it to false behind a pooler in transaction mode that doesn’t support them, such as PgBouncer before 1.21.',
  }),
  CP_LOG_LEVEL: choice(['debug', 'info', 'warn', 'error'], {
    default: 'info',
    doc: 'The lowest level that is logged.',
  }),
  CP_DOCS_BASE_URL: docsBaseUrl(),
  CP_CORS_ORIGINS: list({ default: [], doc: 'Web origins that may call the API; empty disables CORS.' }),
  CP_MAX_BODY_BYTES: integer({
    default: 1_048_576,
    min: 1024,
    unit: 'bytes',
    doc: 'The maximum size of a JSON body.',
  }),
  CP_IDEMPOTENCY_PENDING_TTL_SECONDS: integer({
    default: 60,
    min: 1,
    unit: seconds,
    doc: 'The time after which an unfinished command of an unresponsive program is rolled back, which frees its key.',
  }),
  CP_STATEMENT_TIMEOUT_SECONDS: integer({
    default: 10,
    min: 1,
    unit: seconds,
    doc: 'The timeout of a statement.',
  }),
  CP_WS_POLL_INTERVAL_SECONDS: integer({
    default: 5,
    min: 1,
    unit: seconds,
    doc: 'The interval at which an open stream polls for events and lost permissions when it gets no notification.',
  }),
  CP_MAX_WS_PER_PRINCIPAL: integer({
    default: 500,
    unit: 'streams',
    doc: 'The maximum number of open streams of one principal in one process; 0 is unlimited.',
  }),
  CP_MAX_WS_PER_PROCESS: integer({
    default: 15_000,
    min: 1,
    unit: 'streams',
    doc: 'The maximum number of open streams of one process; it accepts 18,000 connections in total, if its limit of open files allows them.',
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
    doc: 'The port on which `baton worker` serves `/metrics`, `/health/live` and `/health/ready`, on the address CP_HOST; 0 serves none. In the default run, the `/metrics` of coordination include those of its worker.',
  }),
  CP_CONTEXT_ADAPTER_METRICS_PORT: integer({
    default: 8001,
    min: 0,
    max: 65535,
    doc: 'The port on which `baton context-adapter` serves `/metrics`, `/health/live` and `/health/ready`, on the address CP_HOST; 0 serves none. Several on one machine need different ports. The default run needs none: the `/metrics` of coordination include the same figures.',
  }),
  ...lowerSettings,
};

export type Settings = SettingValues<typeof settings>;

/**
 * Reads the settings and refuses combinations that would otherwise fail only later.
 * @throws Error with one sentence
 */
export function readCoordinationSettings(env: Readonly<Record<string, string | undefined>>): Settings {
  const values = readSettings(settings, env);
  const { CP_IAM_ISSUER: issuer, CP_IAM_JWKS_URL: jwksUrl } = values;
  if ((issuer === '') !== (jwksUrl === ''))
    throw new Error('CP_IAM_ISSUER and CP_IAM_JWKS_URL must be set together or not at all.');
  if (values.CP_IAM_ENABLED.trim().toLowerCase() === 'true' && issuer === '')
    throw new Error('CP_IAM_ENABLED requires CP_IAM_ISSUER and CP_IAM_JWKS_URL.');
  for (const kind of ['CP_SESSION', 'CP_CLAIM'] as const) {
    const { min, usual, max } = leaseBounds(values, kind);
    if (min > usual || usual > max)
      throw new Error(
        `${kind}_TTL_SECONDS must be between ${kind}_TTL_MIN_SECONDS and ${kind}_TTL_MAX_SECONDS.`,
      );
  }
  if (values.CP_SINKS_FILE !== '' && !values.CP_OUTBOX_ENABLED)
    throw new Error(
      'CP_SINKS_FILE requires CP_OUTBOX_ENABLED: without the outbox, nothing is delivered to a sink.',
    );
  checkContentSettings(values);
  checkMemorySettings(values);
  checkEntitlementSettings(values);
  checkPolicySettings(values);
  checkSecretStoreSettings(values);
  checkNotificationSettings(values);
  return values;
}
