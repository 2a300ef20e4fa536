import { integer, list, map, type Setting, type SettingValues, text } from '@baton/kernel/process/config';
import { settings as lowerSettings } from '../credentials/settings.ts';
import { readPrivilegedScopes } from './privileged-scopes.ts';

const seconds = 'seconds';
const daySeconds = 86_400;

/** The settings that this layer reads, and those of the layers below it. */
export const settings = {
  IAM_SIGNING_KEY_FILE: text<string | undefined>({
    default: undefined,
    aliases: ['IAM_SIGNING_PRIVATE_KEY_FILE'],
    doc: 'The file with the RSA signing key (PEM, 3072 bits or more, no passphrase).',
  }),
  IAM_SIGNING_PRIVATE_KEY: text<string | undefined>({
    default: undefined,
    secret: true,
    doc: 'The signing key itself (PEM); takes precedence over the file.',
  }),
  IAM_SIGNING_KEY_ID: text({
    default: 'local-dev',
    doc: 'The `kid` of the signing key; a new key needs a new one. `thumbprint` uses the thumbprint of each key (RFC 7638), so that the file can change while the service runs.',
  }),
  IAM_SIGNING_NEXT_KEY_FILE: text<string | undefined>({
    default: undefined,
    doc: 'The file with the private key (PEM) that will sign next, published in advance so that consumers have it in time (docs/decisions/0107); a missing file means no key. SIGHUP reloads all key files.',
  }),
  IAM_SIGNING_NEXT_KEY_ID: text({
    default: 'thumbprint',
    doc: 'The `kid` of the next key, which it keeps when it becomes the signing key; `thumbprint` uses its own thumbprint.',
  }),
  IAM_SIGNING_PREVIOUS_KEY_FILE: text<string | undefined>({
    default: undefined,
    doc: 'The file with the previous key (PEM, private or public); a missing file means no key. It remains published for IAM_TOKEN_TTL_SECONDS plus 60 seconds after its last use by any process.',
  }),
  IAM_SIGNING_PREVIOUS_KEY_ID: text({
    default: 'thumbprint',
    doc: 'The `kid` that the previous key had when it signed; `thumbprint` uses its own thumbprint.',
  }),
  IAM_SIGNING_ES256_KEY_FILE: text<string | undefined>({
    default: undefined,
    doc: 'The file with the key (PEM, on the curve P-256, no passphrase) that signs for audiences with `signingAlgorithm` ES256; its `kid` is its thumbprint. Published only while an audience uses it.',
  }),
  IAM_SIGNING_ES256_NEXT_KEY_FILE: text<string | undefined>({
    default: undefined,
    doc: 'The same as IAM_SIGNING_NEXT_KEY_FILE, for ES256.',
  }),
  IAM_SIGNING_ES256_PREVIOUS_KEY_FILE: text<string | undefined>({
    default: undefined,
    doc: 'The same as IAM_SIGNING_PREVIOUS_KEY_FILE, for ES256.',
  }),
  IAM_SIGNING_EDDSA_KEY_FILE: text<string | undefined>({
    default: undefined,
    doc: 'The file with the key (PEM, Ed25519, no passphrase) that signs for audiences with `signingAlgorithm` EdDSA; its `kid` is its thumbprint. Published only while an audience uses it.',
  }),
  IAM_SIGNING_EDDSA_NEXT_KEY_FILE: text<string | undefined>({
    default: undefined,
    doc: 'The same as IAM_SIGNING_NEXT_KEY_FILE, for EdDSA.',
  }),
  IAM_SIGNING_EDDSA_PREVIOUS_KEY_FILE: text<string | undefined>({
    default: undefined,
    doc: 'The same as IAM_SIGNING_PREVIOUS_KEY_FILE, for EdDSA.',
  }),
  IAM_SIGNING_QUEUE_MAX: integer({
    default: 512,
    min: 1,
    max: 100_000,
    unit: 'signatures',
    doc: 'The maximum number of queued RS256 signatures; further requests get 503 with Retry-After.',
  }),
  IAM_PUBLIC_URL: address({
    default: 'http://localhost:8010',
    doc: 'The public address of the installation; `iss` is this address followed by `/iam`.',
  }),
  IAM_ISSUER: address<string | undefined>({
    default: undefined,
    doc: 'The `iss` of issued tokens, used literally; if unset, it is IAM_PUBLIC_URL followed by `/iam`.',
  }),
  IAM_TOKEN_TTL_SECONDS: integer({
    default: 300,
    min: 1,
    max: daySeconds,
    unit: seconds,
    doc: 'The lifetime of an access token.',
  }),
  IAM_PAT_LAST_USED_INTERVAL_SECONDS: integer({
    default: 30,
    unit: seconds,
    doc: 'The minimum time between two updates of the `lastUsedAt` of a token, a service account or a workload rule; 0 updates it with each exchange.',
  }),
  IAM_RESOURCES: map({
    default: {},
    doc: 'The addresses of services, and the audience of each, for clients that specify a `resource` at `/oauth2/token` (RFC 8707), as MCP clients do: `{"https://baton.example/mcp":"control-plane"}`. The default run sets its own.',
  }),
  IAM_OAUTH_DEFAULT_SCOPES: list({
    default: ['control-plane:read', 'control-plane:write'],
    doc: 'The scopes of an OAuth client that requests none.',
  }),
  IAM_PRIVILEGED_SCOPES: map({
    default: {},
    doc: 'Additional scopes that federation grants only to members of a group, as a map from scope to group key.',
  }),
  IAM_PEOPLE_SCOPE: text({ default: 'iam:people', doc: 'The privileged scope of people management.' }),
  IAM_PEOPLE_ADMIN_GROUP: text({
    default: 'people-admins',
    doc: 'The group whose members may get that scope.',
  }),
  ...lowerSettings,
};

export interface Settings extends SettingValues<typeof settings> {
  /** The `iss` of issued tokens. */
  readonly issuer: string;
  /** The group key for each privileged scope (see docs/reference/tokens.md#privileged-scopes). */
  readonly privilegedScopes: ReadonlyMap<string, string>;
  /** The audience for each service URL, without trailing slashes. */
  readonly resources: ReadonlyMap<string, string>;
}

/** The settings with the values derived from them. */
export function deriveSettings<Values extends SettingValues<typeof settings>>(
  values: Values,
): Values & Settings {
  return {
    ...values,
    issuer: values.IAM_ISSUER ?? `${values.IAM_PUBLIC_URL}/iam`,
    privilegedScopes: readPrivilegedScopes(values),
    resources: new Map(
      Object.entries(values.IAM_RESOURCES).map(([address, audience]) => [
        address.replace(/\/+$/, ''),
        audience,
      ]),
    ),
  };
}

/** An HTTP address. Consumers compare issuers character by character, so a trailing slash is refused. */
function address<T extends string | undefined>(options: { default: T; doc: string }): Setting<T | string> {
  return {
    ...options,
    kind: 'address',
    parse(value) {
      if (!/^https?:\/\/[^/?#\s]+(\/[^?#\s]*)?$/i.test(value))
        throw new Error('must be an http or https address.');
      if (value.endsWith('/')) throw new Error('must not end with a slash.');
      return value;
    },
  };
}
