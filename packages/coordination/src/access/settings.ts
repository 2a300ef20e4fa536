import {
  choice,
  flag,
  integer,
  list,
  type Setting,
  type SettingValues,
  text,
} from '@baton/kernel/process/config';
import { settings as lowerSettings } from '../leases/settings.ts';

const seconds = 'seconds';

/** The settings that this layer reads, and those of the layers below it. */
export const settings = {
  CP_BOOTSTRAP_TOKEN: text<string | undefined>({
    default: undefined,
    secret: true,
    doc: 'The secret that makes the first tenant; unset closes POST /bootstrap.',
  }),
  CP_METRICS_TOKEN: text({
    default: '',
    secret: true,
    doc: 'What `/metrics` asks for as a bearer token; empty asks for none.',
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
  CP_IAM_ALGORITHMS: tokenAlgorithms({
    default: ['RS256'],
    doc: 'What may sign admitted tokens: RS256, RS384, RS512, ES256, EdDSA. An audience of identity with `signingAlgorithm` ES256 needs that one here.',
  }),
  CP_IAM_ENABLED: text({
    default: '',
    doc: 'No switch: `true` without issuer and key address stops the start, `false` beside both is ignored with a warning.',
  }),
  CP_IAM_LEEWAY_SECONDS: integer({ default: 5, max: 60, unit: seconds, doc: 'How far clocks may differ.' }),
  CP_IAM_REQUEST_TIMEOUT_SECONDS: integer({
    default: 3,
    min: 1,
    unit: seconds,
    doc: 'The longest wait for the key document, and for a token of the own service account.',
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
  CP_IAM_REVOCATIONS_URL: text({
    default: '',
    doc: 'Where identity publishes what it revoked; by default `revocations.json` beside a key document `jwks.json`. Without it the access tokens of a disabled principal are accepted until they expire.',
  }),
  CP_IAM_REVOCATIONS_INTERVAL_SECONDS: integer({
    default: 1,
    min: 1,
    max: 60,
    unit: seconds,
    doc: 'The pause between two readings of that list: how long a token may be accepted after it was revoked. In the default run a revocation is read at once.',
  }),
  CP_IAM_REVOCATIONS_STALE_AFTER_SECONDS: integer({
    default: 300,
    max: 86_400,
    unit: seconds,
    doc: 'While the list can not be read, access tokens are accepted for this long after they were issued, or after the last reading; 0 is until they expire.',
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
  CP_IAM_BASE_URL: text({
    default: 'http://localhost:8010',
    doc: 'Where identity gives out tokens for the own service account, with which other services are called.',
  }),
  CP_IAM_CLIENT_ID: text({ default: '', doc: 'The client id of that account.' }),
  CP_IAM_CLIENT_SECRET: text<string | undefined>({
    default: undefined,
    secret: true,
    doc: 'Its secret.',
  }),
  CP_IAM_CLIENT_SCOPES: list({
    default: ['entitlement:check-on-behalf'],
    doc: 'The scopes of its tokens for the licence service.',
  }),
  CP_ENTITLEMENT_ENABLED: flag({
    default: false,
    doc: 'Whether the licence service is asked for what each caller may use; it needs CP_IAM_CLIENT_ID.',
  }),
  CP_ENTITLEMENT_BASE_URL: text({
    default: 'http://localhost:8020',
    doc: 'The address of the licence service.',
  }),
  CP_ENTITLEMENT_PRODUCT: text({
    default: 'control-plane',
    doc: 'What the licence service calls this service.',
  }),
  CP_ENTITLEMENT_AUDIENCE: text({
    default: 'entitlement-service',
    doc: "The audience of the own service account's tokens for the licence service.",
  }),
  CP_ENTITLEMENT_DEFAULT_FEATURE: text({
    default: 'api',
    doc: 'The feature of calls whose path names none after `/api/v1/`.',
  }),
  CP_ENTITLEMENT_CACHE_TTL_SECONDS: integer({
    default: 30,
    min: 1,
    max: 86_400,
    unit: seconds,
    doc: 'How long an answer of the licence service is used without asking again.',
  }),
  CP_ENTITLEMENT_DEGRADED_MAX_AGE_SECONDS: integer({
    default: 0,
    max: 86_400,
    unit: seconds,
    doc: 'The age up to which an answer serves while the licence service is away, never past its own end; 0 refuses at once.',
  }),
  CP_ENTITLEMENT_TIMEOUT_SECONDS: integer({
    default: 3,
    min: 1,
    max: 60,
    unit: seconds,
    doc: 'The longest wait for an answer of the licence service.',
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
  CP_AUTHZ_MODE: choice(['local', 'shadow', 'policy'], {
    default: 'local',
    doc: 'Who decides what the bearer of a token may do: `local`, the permissions held here; `shadow`, these, while a decision point is asked beside them and its differences are counted; `policy`, the decision point. Keys always go by the permissions held here.',
  }),
  CP_POLICY_WIRE: choice(['baton', 'authzen'], {
    default: 'baton',
    doc: 'What the decision point speaks: its own wire, or OpenID AuthZEN 1.0.',
  }),
  CP_POLICY_BASE_URL: text({ default: 'http://localhost:8030', doc: 'Where the decision point answers.' }),
  CP_POLICY_AUDIENCE: text({ default: 'policy-service', doc: 'The audience of the tokens for it.' }),
  CP_POLICY_SCOPES: list({
    default: ['policy:check', 'policy:check-on-behalf'],
    doc: 'The scopes of the tokens for it.',
  }),
  CP_POLICY_TIMEOUT_SECONDS: integer({
    default: 3,
    min: 1,
    max: 30,
    unit: seconds,
    doc: 'The longest wait for an answer of the decision point; then it counts as away.',
  }),
  CP_POLICY_CACHE_TTL_SECONDS: integer({
    default: 5,
    max: 300,
    unit: seconds,
    doc: 'How long its answers are remembered; those about deciding approvals and changing principals never are.',
  }),
  CP_SECRET_STORE_URL: text({
    default: '',
    doc: 'The address of a store for the secrets of agents and connections that speaks KV version 2 of Vault (Vault, OpenBao), for instance `https://vault.example:8200`. It goes before CP_SECRET_STORE_KEY_FILE; nothing is moved from one to the other. Redirects are not followed, so name the active server or a balancer.',
  }),
  CP_SECRET_STORE_TOKEN: text<string | undefined>({
    default: undefined,
    secret: true,
    doc: 'What that store is asked with (`X-Vault-Token`); it needs create, read, update and delete below `<mount>/data/tenants/` and delete below `<mount>/metadata/tenants/`.',
  }),
  CP_SECRET_STORE_MOUNT: text({
    default: 'kv',
    doc: 'Where the KV engine is mounted there: an agent\'s secret lies at `kv/data/tenants/<tenant>/agents/<key>/<name>`, as `{"value": …}`.',
  }),
  CP_SECRET_STORE_TIMEOUT_SECONDS: integer({
    default: 3,
    min: 1,
    max: 30,
    unit: seconds,
    doc: 'The longest wait for an answer of that store; then it counts as away.',
  }),
  CP_SECRET_STORE_KEY_FILE: text({
    default: '',
    doc: 'A file with the keys that seal secrets in the database where no store of secrets is set up: one a line, 32 random bytes in base64. The first one seals, all of them open. Without it and without CP_SECRET_STORE_URL no secret is taken. All processes need the same file. The default run makes one in BATON_HOME.',
  }),
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
  CP_RATE_LIMIT_PER_TENANT_RPS: integer({
    default: 0,
    unit: 'requests per second',
    doc: 'Requests of all principals of one tenant together; 0 is no bound.',
  }),
  CP_RATE_LIMIT_PER_TENANT_BURST: integer({
    default: 0,
    unit: 'requests',
    doc: 'Requests of one tenant at once; 0 is the rate.',
  }),
  ...lowerSettings,
};

export type Settings = SettingValues<typeof settings>;

/** A JSON array of algorithms for tokens. */
function tokenAlgorithms(options: { default: readonly string[]; doc: string }): Setting<readonly string[]> {
  const known = ['RS256', 'RS384', 'RS512', 'ES256', 'EdDSA'];
  const names = list(options);
  return {
    ...names,
    parse(value) {
      const algorithms = names.parse(value);
      if (algorithms.length === 0 || algorithms.some((name) => !known.includes(name)))
        throw new Error(`must be a JSON array of one or more of ${known.join(', ')}.`);
      return algorithms;
    },
  };
}
