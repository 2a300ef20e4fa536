import { z } from 'zod';
import { nodesOf } from '@baton/values/json';
import { compilePattern, patternSize, patternSizeMax } from '@baton/values/json-schema/patterns';
import { prepareSchema } from '@baton/values/json-schema/schema';
import { SchemaDefect } from '@baton/values/json-schema/schema-tree';
import { kindOfSecret } from '@baton/values/secret-material';
import { FreeObject, type Json, type JsonObject } from '@baton/values/wire';
import { checkDocument, documentBytesMax } from '../../service/documents.ts';
import { fail } from '../errors.ts';

export const auths = ['oauth2', 'token'] as const;

/** The keys of types and of connections. See docs/reference/connections.md#connection-types. */
export const ConnectionKey = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,62}$/, 'must be lower-case letters, digits and -, at most 63');

const addressCharactersMax = 2000;
const address = z.string().min(1).max(addressCharactersMax);
const title = z.string().min(1).max(200);
const description = z.string().max(2000).nullable().default(null);
/** RFC 6749, section 3.3. */
const scope = z
  .string()
  .max(200)
  .regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/);

const OauthSpec = z
  .strictObject({
    authorizeUrl: address.describe('The https address to which a person is redirected.'),
    tokenUrlTemplate: address.describe(
      'The https address that exchanges the code; `{account}` is replaced by the account.',
    ),
    accountParam: z
      .string()
      .regex(/^[A-Za-z0-9_.-]{1,100}$/)
      .nullable()
      .default(null)
      .describe('The callback parameter that contains the account.'),
    authStyle: z
      .enum(['in_params', 'in_header'])
      .default('in_params')
      .describe('How the client sends its secret.'),
    scopes: z.array(scope).max(50).refine(isUnique, 'must be unique').default([]),
  })
  .meta({ id: 'ConnectionTypeOauth' });

const AccountField = z
  .strictObject({
    title,
    description,
    pattern: z
      .string()
      .max(500)
      .nullable()
      .default(null)
      .describe('Pattern that the whole account must match; re2 syntax.'),
  })
  .meta({ id: 'ConnectionTypeAccount' });

/** How a family of systems is connected. See docs/reference/connections.md#connection-types. */
export const ConnectionTypeSpec = z
  .strictObject({
    displayName: title,
    description,
    auth: z.array(z.enum(auths)).min(1).max(auths.length).refine(isUnique, 'must be unique'),
    oauth2: OauthSpec.nullable().default(null),
    accountField: AccountField.nullable().default(null),
    settingsSchema: FreeObject.nullable()
      .default(null)
      .describe('A JSON Schema (2020-12) of type object; at most 64 KiB. Without one, settings are empty.'),
    defaultKey: ConnectionKey.nullable()
      .default(null)
      .describe('The key of a connection that is created without one.'),
  })
  .meta({ id: 'ConnectionTypeSpec' });
export type ConnectionTypeSpec = z.output<typeof ConnectionTypeSpec>;

export type OauthOfType = NonNullable<ConnectionTypeSpec['oauth2']>;

/** Leaves room for the fields other than the schema. */
const specBytesMax = 2 * documentBytesMax;
const errorsMax = 20;
/** Query parameters that the callback itself uses. */
const ownParameters = ['state', 'code', 'error', 'error_description', 'error_uri', 'iss'];

/**
 * Validates the spec of a type: first its form, then secrets in its strings.
 * @param allowedHosts hosts that may be used with http
 * @throws Refusal `payload_too_large`, `payload_too_deep`, `invalid_document`, `invalid_connection_type` with `field`,
 * `secret_material_rejected` with `errors`
 */
export function parseTypeSpec(sent: JsonObject, allowedHosts: readonly string[]): ConnectionTypeSpec {
  checkDocument(sent, { field: 'spec', bytesMax: specBytesMax });
  const { data: spec, error } = ConnectionTypeSpec.safeParse(sent);
  if (spec === undefined) return refuse(fieldOf(error.issues[0]), error.issues[0]?.message);
  checkOauth(spec, allowedHosts);
  const { accountField, settingsSchema } = spec;
  if (accountField?.pattern != null) checkPattern(accountField.pattern);
  if (settingsSchema !== null) checkSettingsSchema(settingsSchema);
  refuseSecrets(sent);
  return spec;
}

/**
 * Whether the whole account matches the type's pattern and, if an address contains the account, is safe in that
 * address.
 */
export function isAccountOf({ accountField, oauth2 }: ConnectionTypeSpec, account: string): boolean {
  if (/\p{C}/u.test(account)) return false;
  // If an address contains the account, it must be a host or a single path segment.
  if (oauth2?.tokenUrlTemplate.includes('{account}') && !/^[A-Za-z0-9][A-Za-z0-9.-]*$/.test(account))
    return false;
  return accountField?.pattern == null || compilePattern(whole(accountField.pattern)).matches(account);
}

/**
 * Where the application's secret is sent: the scheme, host and port of the token address. If the account is part of the
 * host, the pattern of accounts is part of the result, because a wider pattern would allow other hosts.
 * @returns a string to compare and to display
 */
export function secretAddressOf({ tokenUrlTemplate }: OauthOfType, pattern: string | null): string {
  // The URL parser leaves the placeholder unchanged.
  const { origin } = new URL(tokenUrlTemplate);
  return origin.includes('{account}') ? `${origin} with {account} like ${pattern}` : origin;
}

const whole = (pattern: string) => `^(?:${pattern})$`;

function checkOauth({ auth, oauth2, accountField }: ConnectionTypeSpec, hosts: readonly string[]): void {
  if (auth.includes('oauth2') !== (oauth2 !== null))
    refuse('spec.oauth2', 'must be present if and only if auth includes it');
  if (oauth2 === null) return;
  const { authorizeUrl, tokenUrlTemplate, accountParam } = oauth2;
  if (!isAddress(authorizeUrl, hosts)) refuse('spec.oauth2.authorizeUrl', 'must be an https address');
  const parts = tokenUrlTemplate.split('{account}');
  const tokenUrl = parts.join('account');
  if (parts.length > 2 || /[{}]/.test(tokenUrl) || !isAddress(tokenUrl, hosts))
    refuse('spec.oauth2.tokenUrlTemplate', 'must be an https address that contains {account} at most once');
  if (accountParam !== null && ownParameters.includes(accountParam))
    refuse('spec.oauth2.accountParam', 'is a parameter of the callback itself');
  if (parts.length === 1) return;
  if (accountParam === null)
    refuse('spec.oauth2.accountParam', 'is required if an address contains {account}');
  // Otherwise a callback could send the client's secret to a host that an attacker chooses.
  if (accountField?.pattern == null)
    refuse('spec.accountField.pattern', 'is required if an address contains {account}');
}

function isAddress(text: string, allowedHosts: readonly string[]): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password, hash, hostname, port } = new URL(text);
  if (`${username}${password}${hash}` !== '') return false;
  if (protocol === 'https:') return true;
  return (
    protocol === 'http:' &&
    (allowedHosts.includes(hostname) || allowedHosts.includes(`${hostname}:${port || '80'}`))
  );
}

function checkPattern(pattern: string): void {
  const field = 'spec.accountField.pattern';
  if (patternSize(whole(pattern)) > patternSizeMax) refuse(field, 'is too large');
  try {
    compilePattern(whole(pattern));
  } catch {
    refuse(field, 'is not a valid pattern');
  }
}

function checkSettingsSchema(schema: JsonObject): void {
  const field = 'spec.settingsSchema';
  checkDocument(schema, { field });
  if (schema['type'] !== 'object') refuse(field, 'must have the type object');
  try {
    prepareSchema(schema);
  } catch (error) {
    if (!(error instanceof SchemaDefect)) throw error;
    refuse(field, error.message);
  }
}

/** Finds strings shaped like a credential anywhere in the spec. Property names may be those of secrets. */
function refuseSecrets(spec: JsonObject): void {
  const errors: { path: string; match: string }[] = [];
  for (const { path, value } of nodesOf(spec)) {
    const match = typeof value === 'string' ? kindOfSecret(value) : undefined;
    if (match !== undefined && errors.length < errorsMax)
      errors.push({ path: path.slice(0, 200).toWellFormed(), match });
  }
  if (errors.length > 0) fail('secret_material_rejected', { field: 'spec', errors });
}

function fieldOf(issue: z.core.$ZodIssue | undefined): string {
  const extra = issue?.code === 'unrecognized_keys' ? [issue.keys[0] ?? ''] : [];
  return ['spec', ...(issue?.path ?? []), ...extra].join('.').slice(0, 200).toWellFormed();
}

function refuse(field: string, message = 'is malformed'): never {
  return fail('invalid_connection_type', { field, message: message.slice(0, 200) });
}

function isUnique(items: readonly Json[]): boolean {
  return new Set(items).size === items.length;
}
