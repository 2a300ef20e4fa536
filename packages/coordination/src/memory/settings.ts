import { choice, integer, list, type SettingValues, text } from '@baton/kernel/process/config';
import { settings as lowerSettings } from '../results/settings.ts';

const seconds = 'seconds';

/** The settings that this layer and the layers below it read. */
export const settings = {
  CP_KNOWLEDGE_SNAPSHOT_MAX_BODY_BYTES: integer({
    default: 8_388_608,
    min: 1024,
    max: 33_554_432,
    unit: 'bytes',
    doc:
      'Maximum size of the body of a snapshot of knowledge, or of a document. At most four are processed at ' +
      'once, each using up to seven times its size in memory.',
  }),
  CP_KNOWLEDGE_PACK_ADMINS: list({
    default: [],
    doc: 'Ids of the principals that may register knowledge packs for all tenants.',
  }),
  CP_CONTEXT_PROVIDER: choice(['none', 'http'], {
    default: 'none',
    doc:
      'The memory service: `none` sends nothing and advances past all events; `http` uses the service at ' +
      'CP_CONTEXT_BASE_URL.',
  }),
  CP_CONTEXT_BASE_URL: text({
    default: 'http://localhost:8077',
    doc: 'The address of the memory service.',
  }),
  CP_CONTEXT_AUTH: choice(['auto', 'api_key', 'iam'], {
    default: 'auto',
    doc:
      'The bearer credential for the memory service: `api_key` for CP_CONTEXT_API_KEY, `iam` for a token of the ' +
      'service account (CP_IAM_CLIENT_ID); `auto` for the first of these that is set, otherwise none.',
  }),
  CP_CONTEXT_API_KEY: text<string | undefined>({
    default: undefined,
    secret: true,
    doc: 'A fixed bearer credential for the memory service.',
  }),
  CP_CONTEXT_IAM_AUDIENCE: text({
    default: 'memory-service',
    doc: "The audience of the service account's tokens for the memory service.",
  }),
  CP_CONTEXT_IAM_SCOPES: list({
    default: ['memory:read', 'memory:write', 'memory:tenants', 'memory:service'],
    doc: 'The scopes that are requested for these tokens.',
  }),
  CP_CONTEXT_NAMESPACE_PREFIX: text({
    default: 'tenant:',
    doc: "The prefix before a tenant's id in the name of its namespace.",
  }),
  CP_CONTEXT_TIMEOUT_SECONDS: integer({
    default: 3,
    min: 1,
    max: 60,
    unit: seconds,
    doc: 'Timeout of a knowledge request to the memory service; a call that exceeds it is aborted one second later.',
  }),
  CP_CONTEXT_DEFAULT_MAX_TOKENS: integer({
    default: 8000,
    min: 1,
    max: 1_000_000,
    unit: 'tokens',
    doc: 'Default size of the memory part of a context.',
  }),
  CP_CONTEXT_MAX_TOKENS_LIMIT: integer({
    default: 16_000,
    min: 1,
    max: 1_000_000,
    unit: 'tokens',
    doc: 'Maximum size of the memory part of a context.',
  }),
  CP_CONTEXT_CIRCUIT_FAILURES: integer({
    default: 5,
    min: 1,
    max: 1000,
    unit: 'failures',
    doc: 'Number of consecutive failed calls for a tenant after which its calls to the memory service are suspended.',
  }),
  CP_CONTEXT_CIRCUIT_SECONDS: integer({
    default: 5,
    min: 1,
    max: 3600,
    unit: seconds,
    doc: 'Duration of that suspension; doubles up to CP_CONTEXT_RETRY_BACKOFF_MAX_SECONDS while the next call fails too.',
  }),
  CP_CONTEXT_INGEST_TIMEOUT_SECONDS: integer({
    default: 15,
    min: 1,
    max: 600,
    unit: seconds,
    doc: 'Timeout for sending a batch of events to the memory service.',
  }),
  CP_CONTEXT_RECONCILE_TIMEOUT_SECONDS: integer({
    default: 60,
    min: 1,
    max: 600,
    unit: seconds,
    doc: 'Timeout for sending a snapshot to the memory service.',
  }),
  CP_CONTEXT_BATCH_SIZE: integer({
    default: 100,
    min: 1,
    max: 500,
    unit: 'events',
    doc: 'Maximum number of events in one request to the memory service, which accepts at most 500.',
  }),
  CP_CONTEXT_TENANT_BATCH_SIZE: integer({
    default: 100,
    min: 1,
    max: 1000,
    unit: 'events',
    doc: 'Number of events of one tenant that are read in one turn, before the turns of other tenants.',
  }),
  CP_CONTEXT_MAX_TENANTS_PER_CYCLE: integer({
    default: 20,
    min: 1,
    max: 1000,
    unit: 'tenants',
    doc: 'Number of tenants whose turn starts in one cycle.',
  }),
  CP_CONTEXT_PARALLEL_TENANTS: integer({
    default: 20,
    min: 2,
    max: 1000,
    unit: 'tenants',
    doc:
      'Number of tenants that one process serves at the same time; tenants whose last turn failed take up at ' +
      'most half of these slots.',
  }),
  CP_CONTEXT_POLL_INTERVAL_SECONDS: integer({
    default: 1,
    min: 1,
    max: 3600,
    unit: seconds,
    doc: 'Delay between two cycles when no tenant is due.',
  }),
  CP_CONTEXT_RETRY_BACKOFF_BASE_SECONDS: integer({
    default: 1,
    min: 1,
    max: 3600,
    unit: seconds,
    doc: 'Initial retry delay of a tenant whose turn failed; it doubles.',
  }),
  CP_CONTEXT_RETRY_BACKOFF_MAX_SECONDS: integer({
    default: 60,
    min: 1,
    max: 86_400,
    unit: seconds,
    doc: 'Maximum retry delay of a tenant whose turn failed.',
  }),
  ...lowerSettings,
};

export type Settings = SettingValues<typeof settings>;
