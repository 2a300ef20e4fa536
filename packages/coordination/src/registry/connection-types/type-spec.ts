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

/** Keys of types and of connections (organisation, section 1.3). */
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
    authorizeUrl: address.describe('Where a person is sent, https.'),
    tokenUrlTemplate: address.describe(
      'Where the code is exchanged, https; `{account}` stands for the account.',
    ),
    accountParam: z
      .string()
      .regex(/^[A-Za-z0-9_.-]{1,100}$/)
      .nullable()
      .default(null)
      .describe('The parameter by which the provider names the account when it calls back.'),
    authStyle: z
      .enum(['in_params', 'in_header'])
      .default('in_params')
      .describe('How the client shows its secret.'),
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
      .describe('What the whole account must match; re2 syntax.'),
  })
  .meta({ id: 'ConnectionTypeAccount' });

/** How the members of a family of systems are connected (organisation, section 13.1). */
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
    defaultKey: ConnectionKey.nullable().default(null).describe('The key of a connection that names none.'),
  })
  .meta({ id: 'ConnectionTypeSpec' });
export type ConnectionTypeSpec = z.output<typeof ConnectionTypeSpec>;

export type OauthOfType = NonNullable<ConnectionTypeSpec['oauth2']>;

/** With room for the other fields beside the schema. */
const specBytesMax = 2 * documentBytesMax;
const errorsMax = 20;
/** The parameters of the callback itself. */
const ownParameters = ['state', 'code', 'error', 'error_description', 'error_uri', 'iss'];

/**
 * Reads the spec of a type, in the order of the contract: its form, then secrets in its texts.
 * @param allowedHosts may be named with http
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

/** Whether the whole account has the form that the type asks for, and can stand in an address where it has to. */
export function isAccountOf({ accountField, oauth2 }: ConnectionTypeSpec, account: string): boolean {
  if (/\p{C}/u.test(account)) return false;
  // In an address it names a host or a part of a path, and no more than that.
  if (oauth2?.tokenUrlTemplate.includes('{account}') && !/^[A-Za-z0-9][A-Za-z0-9.-]*$/.test(account))
    return false;
  return accountField?.pattern == null || compilePattern(whole(accountField.pattern)).matches(account);
}

/**
 * Where the secret of the application is sent: scheme, host and port of the token address. If the account is part of the host,
 * the pattern of accounts is part of the result: a wider one would allow other hosts.
 * @returns a text to compare and to show
 */
export function secretAddressOf({ tokenUrlTemplate }: OauthOfType, pattern: string | null): string {
  // The parser of addresses leaves the placeholder as it is.
  const { origin } = new URL(tokenUrlTemplate);
  return origin.includes('{account}') ? `${origin} with {account} like ${pattern}` : origin;
}

const whole = (pattern: string) => `^(?:${pattern})$`;

function checkOauth({ auth, oauth2, accountField }: ConnectionTypeSpec, hosts: readonly string[]): void {
  if (auth.includes('oauth2') !== (oauth2 !== null))
    refuse('spec.oauth2', 'is there exactly when auth names it');
  if (oauth2 === null) return;
  const { authorizeUrl, tokenUrlTemplate, accountParam } = oauth2;
  if (!isAddress(authorizeUrl, hosts)) refuse('spec.oauth2.authorizeUrl', 'must be an https address');
  const parts = tokenUrlTemplate.split('{account}');
  const tokenUrl = parts.join('account');
  if (parts.length > 2 || /[{}]/.test(tokenUrl) || !isAddress(tokenUrl, hosts))
    refuse('spec.oauth2.tokenUrlTemplate', 'must be an https address with {account} once at most');
  if (accountParam !== null && ownParameters.includes(accountParam))
    refuse('spec.oauth2.accountParam', 'is a parameter of the callback itself');
  if (parts.length === 1) return;
  if (accountParam === null) refuse('spec.oauth2.accountParam', 'is needed where an address holds {account}');
  // Else whoever calls back could have the secret of the client sent to a host of their own.
  if (accountField?.pattern == null)
    refuse('spec.accountField.pattern', 'is needed where an address holds {account}');
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
    refuse(field, 'is no pattern that can be used');
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

/** Texts shaped like a credential, wherever they stand. Names of properties may be those of secrets. */
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
