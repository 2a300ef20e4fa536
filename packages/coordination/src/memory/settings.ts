import { choice, integer, list, type SettingValues, text } from '@baton/kernel/process/config';
import { settings as lowerSettings } from '../results/settings.ts';

const seconds = 'seconds';

/** The settings that this layer reads, and those of the layers below it. */
export const settings = {
  CP_KNOWLEDGE_SNAPSHOT_MAX_BODY_BYTES: integer({
    default: 8_388_608,
    min: 1024,
    max: 33_554_432,
    unit: 'bytes',
    doc: 'The largest body of a snapshot of knowledge, or of a document. Four of them at most are worked on at once, each in up to seven times its size.',
  }),
  CP_KNOWLEDGE_PACK_ADMINS: list({
    default: [],
    doc: 'Ids of the principals that may register knowledge packs for all tenants.',
  }),
  CP_CONTEXT_PROVIDER: choice(['none', 'http'], {
    default: 'none',
    doc: 'The memory service: `none` sends nothing, and moves on what would be sent; `http` is the one at CP_CONTEXT_BASE_URL.',
  }),
  CP_CONTEXT_BASE_URL: text({
    default: 'http://localhost:8077',
    doc: 'The address of the memory service.',
  }),
  CP_CONTEXT_AUTH: choice(['auto', 'api_key', 'iam'], {
    default: 'auto',
    doc: 'What the memory service gets as bearer: `api_key` CP_CONTEXT_API_KEY, `iam` a token of the own service account (CP_IAM_CLIENT_ID); `auto` the first of these that is set, else nothing.',
  }),
  CP_CONTEXT_API_KEY: text<string | undefined>({
    default: undefined,
    secret: true,
    doc: 'A fixed bearer credential for the memory service.',
  }),
  CP_CONTEXT_IAM_AUDIENCE: text({
    default: 'memory-service',
    doc: "The audience of the own service account's tokens for the memory service.",
  }),
  CP_CONTEXT_IAM_SCOPES: list({
    default: ['memory:read', 'memory:write', 'memory:tenants', 'memory:service'],
    doc: 'The scopes that these tokens are asked for with.',
  }),
  CP_CONTEXT_NAMESPACE_PREFIX: text({
    default: 'tenant:',
    doc: "What stands before a tenant's id in the name of its namespace.",
  }),
  CP_CONTEXT_TIMEOUT_SECONDS: integer({
    default: 3,
    min: 1,
    max: 60,
    unit: seconds,
    doc: 'The longest wait for what the memory service knows; one second more ends a call that is cut short.',
  }),
  CP_CONTEXT_DEFAULT_MAX_TOKENS: integer({
    default: 8000,
    min: 1,
    max: 1_000_000,
    unit: 'tokens',
    doc: 'How much of what the memory service knows a context holds, where the request does not say.',
  }),
  CP_CONTEXT_MAX_TOKENS_LIMIT: integer({
    default: 16_000,
    min: 1,
    max: 1_000_000,
    unit: 'tokens',
    doc: 'The most of it that a context holds, whatever the request says.',
  }),
  CP_CONTEXT_CIRCUIT_FAILURES: integer({
    default: 5,
    min: 1,
    max: 1000,
    unit: 'failures',
    doc: 'After so many failed calls in a row for a tenant the memory service is not asked for it for a while.',
  }),
  CP_CONTEXT_CIRCUIT_SECONDS: integer({
    default: 5,
    min: 1,
    max: 3600,
    unit: seconds,
    doc: 'How long that lasts; it doubles up to CP_CONTEXT_RETRY_BACKOFF_MAX_SECONDS while the call after it fails too.',
  }),
  CP_CONTEXT_INGEST_TIMEOUT_SECONDS: integer({
    default: 15,
    min: 1,
    max: 600,
    unit: seconds,
    doc: 'The longest wait for the memory service to take a batch.',
  }),
  CP_CONTEXT_RECONCILE_TIMEOUT_SECONDS: integer({
    default: 60,
    min: 1,
    max: 600,
    unit: seconds,
    doc: 'The longest wait for the memory service to take a snapshot.',
  }),
  CP_CONTEXT_BATCH_SIZE: integer({
    default: 100,
    min: 1,
    max: 500,
    unit: 'events',
    doc: 'Events in one request to the memory service at most; it takes no more than 500.',
  }),
  CP_CONTEXT_TENANT_BATCH_SIZE: integer({
    default: 100,
    min: 1,
    max: 1000,
    unit: 'events',
    doc: 'Events of one tenant that are read in one turn, before others have theirs.',
  }),
  CP_CONTEXT_MAX_TENANTS_PER_CYCLE: integer({
    default: 20,
    min: 1,
    max: 1000,
    unit: 'tenants',
    doc: 'Tenants whose turn begins in one cycle.',
  }),
  CP_CONTEXT_PARALLEL_TENANTS: integer({
    default: 20,
    min: 2,
    max: 1000,
    unit: 'tenants',
    doc: 'Tenants that one process delivers for at the same time; those whose last turn failed take up half of these places at most.',
  }),
  CP_CONTEXT_POLL_INTERVAL_SECONDS: integer({
    default: 1,
    min: 1,
    max: 3600,
    unit: seconds,
    doc: 'The pause between two cycles in which nothing was due.',
  }),
  CP_CONTEXT_RETRY_BACKOFF_BASE_SECONDS: integer({
    default: 1,
    min: 1,
    max: 3600,
    unit: seconds,
    doc: 'The first wait of a tenant whose turn failed; it doubles.',
  }),
  CP_CONTEXT_RETRY_BACKOFF_MAX_SECONDS: integer({
    default: 60,
    min: 1,
    max: 86_400,
    unit: seconds,
    doc: 'The longest wait of such a tenant.',
  }),
  ...lowerSettings,
};

export type Settings = SettingValues<typeof settings>;
