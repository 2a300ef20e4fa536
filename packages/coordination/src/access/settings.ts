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

/** The settings of this layer and of the layers below it. */
export const settings = {
  CP_BOOTSTRAP_TOKEN: text<string | undefined>({
    default: undefined,
    secret: true,
    doc: 'The secret for creating the first tenant; without it, POST /bootstrap is disabled.',
  }),
  CP_METRICS_TOKEN: text({
    default: '',
    secret: true,
    doc: 'The bearer token that `/metrics` requires; empty requires none.',
  }),
  CP_API_KEY_LAST_USED_REFRESH_SECONDS: integer({
    default: 60,
    min: 0,
    unit: seconds,
    doc: 'The age at which the recorded last use of a key is updated.',
  }),
  CP_IAM_ISSUER: text({ default: '', doc: 'The `iss` of accepted tokens, compared exactly.' }),
  CP_IAM_JWKS_URL: text({ default: '', doc: "The URL of identity's key document." }),
  CP_IAM_AUDIENCE: text({ default: 'control-plane', doc: 'The only accepted `aud` of tokens.' }),
  CP_IAM_ALGORITHMS: tokenAlgorithms({
    default: ['RS256'],
    doc: 'The accepted signature algorithms: RS256, RS384, RS512, ES256, EdDSA. An audience of identity with `signingAlgorithm` ES256 needs ES256 here.',
  }),
  CP_IAM_ENABLED: text({
    default: '',
    doc: 'Only a check: `true` without an issuer and a key address fails at startup; `false` with both is ignored with a warning.',
  }),
  CP_IAM_LEEWAY_SECONDS: integer({
    default: 5,
    max: 60,
    unit: seconds,
    doc: 'The tolerated difference between clocks.',
  }),
  CP_IAM_REQUEST_TIMEOUT_SECONDS: integer({
    default: 3,
    min: 1,
    unit: seconds,
    doc: "The timeout of requests for the key document, and for tokens for the service's own account.",
  }),
  CP_IAM_JWKS_REFRESH_AFTER_SECONDS: integer({
    default: 300,
    min: 1,
    unit: seconds,
    doc: 'The age at which cached keys are fetched again.',
  }),
  CP_IAM_JWKS_STALE_AFTER_SECONDS: integer({
    default: 3600,
    min: 1,
    unit: seconds,
    doc: 'The age up to which cached keys are used while the key document is unavailable.',
  }),
  CP_IAM_JWKS_MIN_REFRESH_INTERVAL_SECONDS: integer({
    default: 10,
    min: 0,
    unit: seconds,
    doc: 'The minimum pause between two fetches caused by unknown key ids.',
  }),
  CP_IAM_REVOCATIONS_URL: text({
    default: '',
    doc: "The address of identity's revocation list; by default `revocations.json` next to a key document `jwks.json`. Without it the access tokens of a disabled principal are accepted until they expire.",
  }),
  CP_IAM_REVOCATIONS_INTERVAL_SECONDS: integer({
    default: 1,
    min: 1,
    max: 60,
    unit: seconds,
    doc:
      'The interval at which that list is read, and so how long a revoked token may still be accepted. In the ' +
      'default run a revocation takes effect at once.',
  }),
  CP_IAM_REVOCATIONS_STALE_AFTER_SECONDS: integer({
    default: 300,
    max: 86_400,
    unit: seconds,
    doc: 'While the list is unavailable, access tokens are accepted for this long after they were issued or after the last successful read; 0 accepts them until they expire.',
  }),
  CP_IAM_BINDING_CACHE_TTL_SECONDS: integer({
    default: 30,
    min: 0,
    unit: seconds,
    doc: 'The age at which a cached binding is read again.',
  }),
  CP_IAM_BINDING_STALE_AFTER_SECONDS: integer({
    default: 120,
    min: 0,
    unit: seconds,
    doc:
      'How long a cached binding is used while the database is unavailable, and how long an unknown identity is ' +
      'cached.',
  }),
  CP_IAM_BASE_URL: text({
    default: 'http://localhost:8010',
    doc: "Identity's token endpoint for the service's own account, which authenticates calls to other services.",
  }),
  CP_IAM_CLIENT_ID: text({ default: '', doc: 'The client id of that account.' }),
  CP_IAM_CLIENT_SECRET: text<string | undefined>({
    default: undefined,
    secret: true,
    doc: 'Its secret.',
  }),
  CP_IAM_CLIENT_SCOPES: list({
    default: ['entitlement:check-on-behalf'],
    doc: 'The scopes of its tokens for the license service.',
  }),
  CP_ENTITLEMENT_ENABLED: flag({
    default: false,
    doc: 'Whether the license service is queried for each caller; requires CP_IAM_CLIENT_ID.',
  }),
  CP_ENTITLEMENT_BASE_URL: text({
    default: 'http://localhost:8020',
    doc: 'The address of the license service.',
  }),
  CP_ENTITLEMENT_PRODUCT: text({
    default: 'control-plane',
    doc: 'The name of this service in the license service.',
  }),
  CP_ENTITLEMENT_AUDIENCE: text({
    default: 'entitlement-service',
    doc: "The audience of the service account's tokens for the license service.",
  }),
  CP_ENTITLEMENT_DEFAULT_FEATURE: text({
    default: 'api',
    doc: 'The feature of requests whose path has no segment after `/api/v1/`.',
  }),
  CP_ENTITLEMENT_CACHE_TTL_SECONDS: integer({
    default: 30,
    min: 1,
    max: 86_400,
    unit: seconds,
    doc: 'How long a response from the license service is cached.',
  }),
  CP_ENTITLEMENT_DEGRADED_MAX_AGE_SECONDS: integer({
    default: 0,
    max: 86_400,
    unit: seconds,
    doc: 'The age up to which a cached response is used while the license service is unavailable, but not after its expiry; 0 refuses requests at once.',
  }),
  CP_ENTITLEMENT_TIMEOUT_SECONDS: integer({
    default: 3,
    min: 1,
    max: 60,
    unit: seconds,
    doc: 'The timeout of requests to the license service.',
  }),
  CP_LEGACY_API_KEYS_ENABLED: flag({
    default: false,
    doc: 'Whether keys of the form cp_<prefix>_<secret> are accepted.',
  }),
  CP_BREAK_GLASS_ENABLED: flag({
    default: true,
    doc: 'Whether emergency keys can be issued and are accepted.',
  }),
  CP_BREAK_GLASS_MAX_TTL_SECONDS: integer({
    default: 14_400,
    min: 60,
    unit: seconds,
    doc: 'The maximum lifetime of an emergency key.',
  }),
  CP_AUTHZ_MODE: choice(['local', 'shadow', 'policy'], {
    default: 'local',
    doc:
      "What authorizes a token's bearer: `local`, the permissions stored here; `shadow`, the same, while their " +
      'decisions are compared with a decision point and differences are counted; `policy`, the decision point. Keys ' +
      'always use the permissions stored here.',
  }),
  CP_POLICY_WIRE: choice(['baton', 'authzen'], {
    default: 'baton',
    doc: "The decision point's protocol: Baton's own, or OpenID AuthZEN 1.0.",
  }),
  CP_POLICY_BASE_URL: text({ default: 'http://localhost:8030', doc: 'The address of the decision point.' }),
  CP_POLICY_AUDIENCE: text({
    default: 'policy-service',
    doc: 'The audience of tokens for the decision point.',
  }),
  CP_POLICY_SCOPES: list({
    default: ['policy:check', 'policy:check-on-behalf'],
    doc: 'The scopes of tokens for the decision point.',
  }),
  CP_POLICY_TIMEOUT_SECONDS: integer({
    default: 3,
    min: 1,
    max: 30,
    unit: seconds,
    doc: 'The timeout of requests to the decision point.',
  }),
  CP_POLICY_CACHE_TTL_SECONDS: integer({
    default: 5,
    max: 300,
    unit: seconds,
    doc: 'How long decisions are cached; decisions on deciding approvals and on changing principals are never cached.',
  }),
  CP_SECRET_STORE_URL: text({
    default: '',
    doc: 'The address of a secret store with the KV version 2 API of Vault or OpenBao for the secrets of agents and connections, for instance `https://vault.example:8200`. It takes precedence over CP_SECRET_STORE_KEY_FILE; secrets are not moved between the two. Redirects are not followed, so use the active server or a load balancer.',
  }),
  CP_SECRET_STORE_TOKEN: text<string | undefined>({
    default: undefined,
    secret: true,
    doc: 'The token for that store (`X-Vault-Token`); it needs create, read, update and delete below `<mount>/data/tenants/` and delete below `<mount>/metadata/tenants/`.',
  }),
  CP_SECRET_STORE_MOUNT: text({
    default: 'kv',
    doc: 'The mount path of the KV engine: an agent\'s secret is stored at `kv/data/tenants/<tenant>/agents/<key>/<name>`, as `{"value": …}`.',
  }),
  CP_SECRET_STORE_TIMEOUT_SECONDS: integer({
    default: 3,
    min: 1,
    max: 30,
    unit: seconds,
    doc: 'The timeout of requests to that store.',
  }),
  CP_SECRET_STORE_KEY_FILE: text({
    default: '',
    doc: 'A file with the keys that encrypt secrets in the database if no secret store is configured: one per line, 32 random bytes in base64. The first key encrypts, all keys decrypt. Without it and without CP_SECRET_STORE_URL secrets are refused. All processes need the same file. The default run creates one in BATON_HOME.',
  }),
  CP_RATE_LIMIT_PER_PRINCIPAL_RPS: integer({
    default: 0,
    unit: 'requests per second',
    doc: 'The rate limit per principal; 0 is unlimited.',
  }),
  CP_RATE_LIMIT_PER_PRINCIPAL_BURST: integer({
    default: 0,
    unit: 'requests',
    doc: 'The burst size per principal; 0 uses the rate.',
  }),
  CP_RATE_LIMIT_PER_TENANT_RPS: integer({
    default: 0,
    unit: 'requests per second',
    doc: 'The rate limit per tenant, for all principals together; 0 is unlimited.',
  }),
  CP_RATE_LIMIT_PER_TENANT_BURST: integer({
    default: 0,
    unit: 'requests',
    doc: 'The burst size per tenant; 0 uses the rate.',
  }),
  CP_IDENTITY_ADMIN_CREDENTIAL_FILE: text({
    default: '',
    doc:
      'A file with the credential with which coordination gets administration tokens from identity (CP_IAM_BASE_URL) for ' +
      'people who are administrators: 32 to 512 characters, also in IAM_DELEGATION_CREDENTIAL_FILE. It is read for each ' +
      "request. Without it, identity's administration requires the admin secret. The default run creates one in BATON_HOME.",
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
