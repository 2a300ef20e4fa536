import {
  choice,
  flag,
  integer,
  list,
  map,
  readSettings,
  type SettingValues,
  type Setting,
  text,
} from '@baton/kernel/config';
import { readPrivilegedScopes } from './privileged-scopes.ts';

const seconds = 'seconds';
const daySeconds = 86_400;

/** Every setting of identity (contract, section 15). Read here and nowhere else. */
export const settingTable = {
  IAM_BOOTSTRAP_TOKEN: text({
    default: '',
    secret: true,
    doc: 'The admin secret; empty closes every admin endpoint.',
  }),
  IAM_BOOTSTRAP_TOKENS_FILE: text<string | undefined>({
    default: undefined,
    doc: 'A file with further admin secrets, one `name:secret` a line; the audit record calls their holders `bootstrap:<name>`. Without IAM_BOOTSTRAP_TOKEN they admit nobody either. SIGHUP reads it again.',
  }),
  IAM_SIGNING_KEY_FILE: text<string | undefined>({
    default: undefined,
    aliases: ['IAM_SIGNING_PRIVATE_KEY_FILE'],
    doc: 'The file with the RSA signing key (PEM, 3072 bits or more, no passphrase).',
  }),
  IAM_SIGNING_PRIVATE_KEY: text<string | undefined>({
    default: undefined,
    secret: true,
    doc: 'The signing key itself (PEM); wins over the file.',
  }),
  IAM_SIGNING_KEY_ID: text({
    default: 'local-dev',
    doc: 'The `kid` of the signing key; another key needs another one. `thumbprint` names each key by its own (RFC 7638), so that the file may change while the service runs.',
  }),
  IAM_SIGNING_NEXT_KEY_FILE: text<string | undefined>({
    default: undefined,
    doc: 'The file with the private key (PEM) that will sign next, published ahead so that consumers know it in time (docs/decisions/0107); a file that is not there is no key. SIGHUP reads all key files again.',
  }),
  IAM_SIGNING_NEXT_KEY_ID: text({
    default: 'thumbprint',
    doc: 'The `kid` of the next key, which it keeps when it comes to sign; `thumbprint`: its own.',
  }),
  IAM_SIGNING_PREVIOUS_KEY_FILE: text<string | undefined>({
    default: undefined,
    doc: 'The file with the key (PEM, private or public) that signed before; a file that is not there is no key. It stays published for IAM_TOKEN_TTL_SECONDS and 60 seconds after its last use by any process, then leaves the key document by itself.',
  }),
  IAM_SIGNING_PREVIOUS_KEY_ID: text({
    default: 'thumbprint',
    doc: 'The `kid` that the previous key had when it signed; `thumbprint`: its own.',
  }),
  IAM_SIGNING_QUEUE_MAX: integer({
    default: 512,
    min: 1,
    max: 100_000,
    unit: 'signatures',
    doc: 'Signatures that may wait; one more is answered 503 with Retry-After.',
  }),
  IAM_PUBLIC_URL: address({
    default: 'http://localhost:8010',
    doc: 'Where the installation is reached from outside; `iss` is this with `/iam` behind it.',
  }),
  IAM_ISSUER: address<string | undefined>({
    default: undefined,
    doc: 'The `iss` of issued tokens, as it stands; unset means IAM_PUBLIC_URL with `/iam` behind it.',
  }),
  IAM_HOST: text({ default: '127.0.0.1', doc: 'The address that `baton identity serve` listens on.' }),
  IAM_PORT: integer({ default: 8010, min: 0, max: 65_535, doc: 'The port of `baton identity serve`.' }),
  IAM_METRICS_PORT: integer({
    default: 0,
    min: 0,
    max: 65_535,
    doc: 'The port that serves `/metrics`, on the same address; 0 serves none.',
  }),
  IAM_DATABASE_URL: text({
    default: 'postgresql://iam:iam@localhost:5435/iam',
    secret: true,
    doc: 'The PostgreSQL database (15 or later) of identity.',
  }),
  IAM_DATABASE_CONNECTIONS_MAX: integer({
    default: 20,
    min: 1,
    max: 1000,
    unit: 'connections',
    doc: 'Connections to the database per process at most.',
  }),
  IAM_STATEMENT_TIMEOUT_SECONDS: integer({
    default: 10,
    min: 1,
    max: 3600,
    unit: seconds,
    doc: 'The longest that a statement may run or wait for a lock.',
  }),
  IAM_CREATE_SCHEMA_ON_STARTUP: flag({
    default: false,
    doc: 'Whether a start brings the database up to date; without it an old database is not served.',
  }),
  IAM_LOG_LEVEL: choice(['debug', 'info', 'warn', 'error'], {
    default: 'info',
    doc: 'The least severe line that is logged.',
  }),
  IAM_TOKEN_TTL_SECONDS: integer({
    default: 300,
    min: 1,
    max: daySeconds,
    unit: seconds,
    doc: 'How long an access token lives.',
  }),
  IAM_PAT_DEFAULT_TTL_SECONDS: integer({
    default: 30 * daySeconds,
    min: 60,
    unit: seconds,
    doc: 'How long a platform access token lives that asks for no time; never beyond the maximum.',
  }),
  IAM_PAT_MAX_TTL_SECONDS: integer({
    default: 365 * daySeconds,
    min: 60,
    unit: seconds,
    doc: 'The longest life of a platform access token.',
  }),
  IAM_PAT_MAX_AUTHENTICATION_AGE_SECONDS: integer({
    default: 300,
    unit: seconds,
    doc: 'How old the recorded sign-in of a person may be when a token is issued.',
  }),
  IAM_PAT_LAST_USED_INTERVAL_SECONDS: integer({
    default: 30,
    unit: seconds,
    doc: 'How stale `lastUsedAt` may be before an exchange writes it again; 0 writes it each time.',
  }),
  IAM_FAILURES_PER_CREDENTIAL_MAX: integer({
    default: 0,
    max: 1_000_000,
    unit: 'failures',
    doc: 'How often a wrong secret may be presented for one token prefix or client in a window before it is answered 429; the right secret always passes. Counted per process; 0 is without a limit.',
  }),
  IAM_FAILURES_PER_ADDRESS_MAX: integer({
    default: 0,
    max: 1_000_000,
    unit: 'failures',
    doc: 'How often secrets, sign-ins and SCIM credentials from one address (of IPv6: one network of 64 bits) may fail in a window before all that it presents is answered 429; of admin secrets only wrong ones are. 0 is without a limit: leave it so behind a proxy, where all clients have one address.',
  }),
  IAM_FAILURE_WINDOW_SECONDS: integer({
    default: 60,
    min: 1,
    max: daySeconds,
    unit: seconds,
    doc: 'How long failures are counted, from the first one.',
  }),
  IAM_LEGACY_CREDENTIAL_MAX_TTL_SECONDS: integer({
    default: 90 * daySeconds,
    min: 60,
    unit: seconds,
    doc: 'The longest life of an imported legacy key.',
  }),
  IAM_OUTBOUND_ALLOWED_HOSTS: list({
    default: [],
    doc: 'Hosts (`host` or `host:port`) that may be private and be asked over http, where an identity provider or a provisioning source names them; all others are asked over https on public addresses only.',
  }),
  IAM_UPSTREAM_CREDENTIALS_FILE: text<string | undefined>({
    default: undefined,
    doc: 'A file with what opens the directories of sources with an upstreamMode, a line for each: `<source id> <upstreamBaseUrl> <client id>:<client secret>` (client_credentials), or `<source id> <upstreamBaseUrl> Bearer <token>`. It is sent to that address only; a source without a line is answered 502. SIGHUP reads it again.',
  }),
  IAM_AUDIT_KEY_FILE: text<string | undefined>({
    default: undefined,
    doc: 'A file with 32 characters or more of random text, the key that seals the audit record; keep it away from the database. Without it nothing shows that the record was changed.',
  }),
  IAM_AUDIT_RETENTION_DAYS: integer({
    default: 0,
    max: 36_500,
    unit: 'days',
    doc: 'How long audit records are kept; 0 keeps them for ever. With a key only sealed ones are removed, and their seals stay.',
  }),
  IAM_JOURNAL_RETENTION_DAYS: integer({
    default: 0,
    max: 36_500,
    unit: 'days',
    doc: 'How long events stay in the journal; 0 keeps them for ever. Readers that start below the last removed event are answered 410.',
  }),
  IAM_SCIM_AUDIENCE: text({ default: 'iam-scim', doc: 'The audience of access tokens that SCIM accepts.' }),
  IAM_SCIM_SCOPE: text({ default: 'scim:write', doc: 'The scope that such a token must carry.' }),
  IAM_SCIM_MAX_PAGE_SIZE: integer({
    default: 200,
    min: 1,
    max: 10_000,
    unit: 'resources',
    doc: 'Resources in one page of a SCIM list at most.',
  }),
  IAM_PRIVILEGED_SCOPES: map({
    default: {},
    doc: 'Further scopes that only members of a group get, by federation: scope to group key.',
  }),
  IAM_PEOPLE_SCOPE: text({ default: 'iam:people', doc: 'The privileged scope of people management.' }),
  IAM_PEOPLE_ADMIN_GROUP: text({
    default: 'people-admins',
    doc: 'The group whose members may have that scope.',
  }),
};

export interface Settings extends SettingValues<typeof settingTable> {
  /** The `iss` of issued tokens. */
  readonly issuer: string;
  /** Group key by privileged scope (contract, section 9.6). */
  readonly privilegedScopes: ReadonlyMap<string, string>;
}

/**
 * Reads the settings of identity.
 * @throws SettingError with one sentence for a value that can't be used
 */
export function readIdentitySettings(env: Readonly<Record<string, string | undefined>>): Settings {
  const values = readSettings(settingTable, env);
  return {
    ...values,
    issuer: values.IAM_ISSUER ?? `${values.IAM_PUBLIC_URL}/iam`,
    privilegedScopes: readPrivilegedScopes(values),
  };
}

/** An http address. Consumers compare issuers character by character, so one with a slash at its end is refused. */
function address<T extends string | undefined>(options: { default: T; doc: string }): Setting<T | string> {
  return {
    ...options,
    kind: 'address',
    parse(value) {
      if (!/^https?:\/\/[^/?#\s]+(\/[^?#\s]*)?$/i.test(value))
        throw new Error('must be an http or https address.');
      if (value.endsWith('/')) throw new Error('must not end in a slash.');
      return value;
    },
  };
}
