import { compactVerify } from 'jose';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import type { StoredProvider } from '../identity-providers/identity-provider.ts';
import { isAcceptedAlgorithm, isFor, selectKey, type UpstreamKey } from '../identity-providers/key-set.ts';
import type { FoundKeys, ProviderKeys } from '../identity-providers/provider-keys.ts';

/** The person who signed in according to an upstream token, and the authentication methods. */
export interface UpstreamIdentity {
  readonly subject: string;
  readonly externalId: string;
  /**
   * The name in the provider's display name claim, cleaned so that it can be stored; undefined if no usable one exists.
   */
  readonly displayName: string | undefined;
  /** The address in the provider's e-mail claim; undefined if the claim holds no address that can be stored. */
  readonly email: string | undefined;
  readonly isEmailVerified: boolean;
  readonly acr: string | null;
  /** The values are in the same order as in the token. */
  readonly amr: readonly string[];
  /** RFC 3339, as in the token: it may be in the future. */
  readonly authTime: string | null;
  /** Undefined when the token has no such claim, in which case memberships remain. An empty list removes them. */
  readonly groups: readonly string[] | undefined;
  /** All claims of the token. */
  readonly claims: Json;
}

type Json = Readonly<Record<string, unknown>>;

const tokenBytesMax = 32_768;
const nameLengthMax = 500;
const displayNameLengthMax = 200;
const emailLengthMax = 320;
/** Control characters, and characters that reverse or hide part of the text. */
const invisible = /[\p{Cc}\p{Cf}]+/gu;
const decoder = new TextDecoder('utf-8', { fatal: true });

/**
 * Verifies an upstream ID or access token in the order of docs/reference/providers.md#verification. Keys come from the
 * provider only: keys that a header refers to or contains (`jku`, `jwk`, `x5u`, `x5c`) are ignored.
 * @throws Refusal with the code of the first step that fails
 */
export async function verifyUpstreamToken(
  provider: StoredProvider,
  token: string,
  found: FoundKeys,
  { providerKeys, settings }: Pick<Context, 'providerKeys' | 'settings'>,
): Promise<UpstreamIdentity> {
  const header = parseHeader(token);
  const { alg } = header;
  if (!isAcceptedAlgorithm(alg)) return fail('unsupported_algorithm');
  const named = { kid: kidOf(header), alg };
  const payload = parsePayload(await verifiedPayload(token, named, provider, found, providerKeys));
  refuseOtherTokens(header, payload);
  checkClaims(payload, provider, settings.IAM_UPSTREAM_LEEWAY_SECONDS);
  const identity = identityOf(payload, provider);
  refuseWeakSignIn(identity, provider);
  refuseOtherClaims(payload, provider);
  return identity;
}

function parseHeader(token: string): Json {
  const malformed = (reason: string) => fail('invalid_token', {}, { reason });
  if (token.length > tokenBytesMax) malformed('upstream token too large');
  const [head = '', body = '', ...rest] = token.split('.');
  if (rest.length !== 1 || !isBase64Url(head) || !isBase64Url(body)) malformed('upstream token malformed');
  const header = parseObject(Buffer.from(head, 'base64url')) ?? malformed('upstream header malformed');
  // A verifier must understand the extensions that these parameters announce, and none is implemented here.
  if (Object.hasOwn(header, 'crit') || Object.hasOwn(header, 'b64')) malformed('upstream header critical');
  return header;
}

/**
 * Accepts only the canonical base64url encoding of the bytes, because otherwise one token could be written as several
 * strings.
 */
function isBase64Url(text: string): boolean {
  return /^[A-Za-z0-9_-]*$/.test(text) && Buffer.from(text, 'base64url').toString('base64url') === text;
}

function parseObject(bytes: Uint8Array): Json | undefined {
  try {
    const value: unknown = JSON.parse(decoder.decode(bytes));
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : undefined;
  } catch {
    return undefined;
  }
}

/** The header's parameters about the key. */
interface NamedKey {
  readonly kid: string | undefined;
  readonly alg: string;
}

function kidOf({ kid }: Json): string | undefined {
  if (kid === undefined) return undefined;
  return typeof kid === 'string' && kid !== '' ? kid : fail('unknown_signing_key');
}

/**
 * Verifies with the key that has the token's `kid`, or with the only key that matches. The provider may have replaced
 * its keys, so they are fetched again for an unknown `kid`, and for an invalid signature if the key has no `kid`.
 */
async function verifiedPayload(
  token: string,
  { kid, alg }: NamedKey,
  provider: StoredProvider,
  found: FoundKeys,
  providerKeys: ProviderKeys,
): Promise<Uint8Array> {
  const known = selectKey(found.keys, kid, alg);
  const selectNewer = async () => selectKey(await providerKeys.keysBeyond(provider, found), kid, alg);
  if (known === undefined)
    return verifySignature(token, alg, (await selectNewer()) ?? fail('unknown_signing_key'));
  const verified = verifySignature(token, alg, known);
  if (kid !== undefined && found.keys.has(kid)) return verified;
  return verified.catch(async (error: unknown) => {
    const newer = await selectNewer();
    if (newer === undefined || newer === known) throw error;
    return verifySignature(token, alg, newer);
  });
}

async function verifySignature(token: string, alg: string, key: UpstreamKey): Promise<Uint8Array> {
  const signature = token.slice(token.lastIndexOf('.') + 1);
  if (!isBase64Url(signature) || !isFor(key, alg)) fail('invalid_signature');
  try {
    return (await compactVerify(token, key.key, { algorithms: [alg] })).payload;
  } catch (cause) {
    // Also thrown for a key whose type or curve does not match the algorithm.
    return fail('invalid_signature', {}, { cause });
  }
}

function parsePayload(bytes: Uint8Array): Json {
  return parseObject(bytes) ?? fail('invalid_token', {}, { reason: 'upstream payload malformed' });
}

/**
 * Logout, refresh and event tokens are signed with the same keys, but do not prove a sign-in. A token with
 * `cnf` (RFC 7800) is valid only with a proof of possession, which this endpoint doesn't accept.
 */
function refuseOtherTokens({ typ }: Json, payload: Json): void {
  const isKnownType =
    typ === undefined || (typeof typ === 'string' && /^(application\/)?(at\+)?jwt$/i.test(typ));
  const { events, cnf, typ: kind = 'ID', token_use: use = 'id' } = payload;
  // Keycloak's access tokens have the type `Bearer`.
  const isKnownKind = (kind === 'ID' || kind === 'Bearer') && use === 'id';
  if (isKnownType && isKnownKind && events === undefined && cnf === undefined) return;
  fail('invalid_token', {}, { reason: 'upstream token is neither an ID nor an access token' });
}

/** Steps 7 to 10. */
function checkClaims(payload: Json, provider: StoredProvider, leewaySeconds: number): void {
  const { iss, sub, aud, exp, iat, nbf = 0 } = payload;
  const invalid = (reason: string) => fail('invalid_token', {}, { reason: `upstream ${reason}` });
  if (iss == null || sub == null || aud == null) invalid('claims missing');
  if (!isInstant(exp) || !isInstant(iat) || !isInstant(nbf)) return invalid('times missing');
  const nowSeconds = Date.now() / 1000;
  if (Math.max(iat, nbf) > nowSeconds + leewaySeconds) invalid('token of the future');
  if (exp <= nowSeconds) fail('token_expired');
  if (iss !== provider.issuer && iss !== provider.registered_issuer)
    fail('invalid_issuer', {}, { status: 401 });
  if (!listOf(aud).includes(provider.audience) || !isAskedForBy(provider.authorized_parties, payload))
    fail('invalid_audience');
}

function isInstant(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}

function listOf(aud: unknown): readonly unknown[] {
  return Array.isArray(aud) ? aud : [aud];
}

/** Whether the token was issued for one of the parties (its `azp`, or else its only audience); true without parties. */
function isAskedForBy(parties: readonly unknown[], { aud, azp }: Json): boolean {
  if (parties.length === 0) return true;
  if (azp !== undefined) return parties.includes(azp);
  const audiences = listOf(aud);
  return audiences.length === 1 && parties.includes(audiences[0]);
}

function identityOf(payload: Json, provider: StoredProvider): UpstreamIdentity {
  // An empty setting selects no claim, even if the token has a claim with an empty name.
  const claim = (name: string) => (name !== '' && Object.hasOwn(payload, name) ? payload[name] : undefined);
  const subject = claim(provider.subject_claim);
  if (typeof subject !== 'string' || subject === '') return fail('missing_subject_claim');
  const externalId = claim(provider.external_id_claim);
  const identity: UpstreamIdentity = {
    subject,
    externalId: typeof externalId === 'string' && externalId !== '' ? externalId : subject,
    displayName: displayNameOf(claim(nameClaimOf(provider))),
    ...emailIn(provider, claim),
    acr: typeof payload['acr'] === 'string' && payload['acr'] !== '' ? payload['acr'] : null,
    amr: textsOf(payload['amr']) ?? [],
    authTime: instantText(payload['auth_time']),
    groups: textsOf(claim(provider.group_claim)),
    claims: payload,
  };
  const { acr, amr, groups = [] } = identity;
  const texts = [subject, identity.externalId, acr ?? '', ...amr, ...groups];
  const isTooLong = [subject, identity.externalId].some((name) => [...name].length > nameLengthMax);
  // PostgreSQL stores neither NUL nor a lone surrogate.
  if (isTooLong || texts.some((text) => text.includes('\0') || !text.isWellFormed()))
    fail('invalid_token', {}, { reason: 'upstream claims cannot be stored' });
  return identity;
}

/** Administrators recognize a person by name when they decide, so `name` is read unless another claim is set. */
function nameClaimOf({ display_name_claim: name, unknown_people: unknown }: StoredProvider): string {
  return name === '' && unknown === 'request' ? 'name' : name;
}

/** `email_verified` is a statement about the claim `email` only (OpenID Connect Core, section 5.1). */
function emailIn(
  { email_claim: name }: StoredProvider,
  claim: (name: string) => unknown,
): Pick<UpstreamIdentity, 'email' | 'isEmailVerified'> {
  const found = claim(name);
  const email = typeof found === 'string' ? found.toWellFormed().replace(invisible, '').trim() : '';
  const isAddress = email.length <= emailLengthMax && /^[^\s@]+@[^\s@]+$/.test(email);
  // The provider has verified the address exactly as in the token, not one without its invisible characters.
  const isEmailVerified =
    email === found && isAddress && name === 'email' && claim('email_verified') === true;
  return { email: isAddress ? email : undefined, isEmailVerified };
}

/**
 * The name of a new person: that of the token, otherwise provider and external id. Both are cleaned, because at some
 * providers people choose the claim of the external id.
 */
export function nameOf(
  { key }: Pick<StoredProvider, 'key'>,
  { displayName, externalId }: Pick<UpstreamIdentity, 'displayName' | 'externalId'>,
): string {
  return displayName ?? displayNameOf(`${key}:${externalId}`) ?? key;
}

/** A name that is unusable or invisible is ignored, because it must not prevent the sign-in. */
function displayNameOf(claim: unknown): string | undefined {
  if (typeof claim !== 'string') return undefined;
  const name = claim
    .toWellFormed()
    .replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
    // Tags (U+E0000 to U+E007F) are invisible to people, and legible to agents.
    .replace(/[\p{Bidi_Control}\u{e0000}-\u{e007f}]+/gu, '')
    .trim();
  // Truncated by code points, so that no surrogate pair is split.
  const cut = [...name].slice(0, displayNameLengthMax).join('').trim();
  return /[\p{L}\p{N}\p{P}\p{S}]/u.test(cut) ? cut : undefined;
}

/** The strings of a claim that is a string or a list; undefined for anything else. */
function textsOf(claim: unknown): string[] | undefined {
  if (typeof claim === 'string') return [claim];
  return Array.isArray(claim) ? claim.filter((item) => typeof item === 'string') : undefined;
}

/** The RFC 3339 form of seconds since 1970; null for anything but an instant in the years 1 to 9999. */
function instantText(seconds: unknown): string | null {
  if (!isInstant(seconds) || seconds < -62_135_596_800 || seconds >= 253_402_300_800) return null;
  return new Date(seconds * 1000).toISOString();
}

function refuseWeakSignIn({ acr, amr }: UpstreamIdentity, provider: StoredProvider): void {
  const { required_acr_values: acrs, required_amr_values: amrs } = provider;
  const isStrong = acrs.length === 0 || (acr !== null && acrs.includes(acr));
  if (!isStrong || amrs.some((method) => !amr.includes(method))) fail('step_up_required');
}

/**
 * Refuses a token of a shared issuer that is not ours: all tokens of such an issuer are genuine, and only their claims
 * distinguish our tokens from those of its other customers.
 */
function refuseOtherClaims(payload: Json, { required_claims: required }: StoredProvider): void {
  for (const [name, allowed] of Object.entries(required)) {
    const values = textsOf(Object.hasOwn(payload, name) ? payload[name] : undefined) ?? [];
    if (!values.some((value) => allowed.includes(value)))
      fail('claim_not_allowed', {}, { reason: `upstream claim ${name}` });
  }
}
