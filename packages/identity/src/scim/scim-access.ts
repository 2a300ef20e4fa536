import type { Db } from '@baton/kernel/db';
import type { RequestHead } from '@baton/kernel/http';
import { Refusal } from '@baton/kernel/refusal';
import type { Operation } from '@baton/kernel/service';
import { type JWTPayload, jwtVerify } from 'jose';
import type { Caller } from '../caller.ts';
import type { Settings } from '../config.ts';
import type { Context } from '../context.ts';
import { parseProvisioningToken } from '../provisioning-sources/provisioning-tokens.ts';
import { isSecretOf } from '../secrets.ts';
import { fail } from '../service.ts';
import type { SigningKeys } from '../signing-keys/signing-keys.ts';
import { findSourceOfAccount, findSourceOfToken, type ScimSourceRow } from './scim-access.sql.ts';

/** The source that a SCIM request writes for. It comes from the credential and from nothing else. */
export interface ScimSource {
  readonly id: string;
  readonly key: string;
  readonly tenantId: string;
  readonly providerId: string;
  readonly providerIssuer: string;
  /** Whether writes would have to go to the directory first. */
  readonly writesUpstream: boolean;
}

/** The source of a request whose endpoint admits nobody else. */
export function sourceOf({ caller }: Pick<Context, 'caller'>): ScimSource {
  if (caller.scim === undefined) throw new Error('the endpoint admits callers without a source');
  return caller.scim;
}

/**
 * Makes the check before every SCIM endpoint (contract, sections 10.1 and 21): an access token of ours, or a
 * provisioning token. Nothing is cached: a revoked account is refused at once.
 */
export function createScimAdmission(parts: { settings: Settings; pool: Db; signingKeys: SigningKeys }) {
  /** @throws Refusal `scim_unauthorized` and the others of access; `scim_unsupported_media_type` */
  return async ({ headers }: RequestHead, endpoint: Operation): Promise<Caller> => {
    const token = /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1] ?? refuse('no bearer token');
    const row = token.startsWith('iam_scim_')
      ? await byProvisioningToken(parts.pool, token)
      : await byAccessToken(parts, token);
    if (row.provider_status !== 'active') fail('scim_identity_provider_inactive');
    const hasBody = headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
    if (endpoint.body !== undefined && hasBody) refuseOtherMedia(headers['content-type']);
    return {
      actor: `provisioning_source:${row.key}`,
      scim: {
        id: row.source_id,
        key: row.key,
        tenantId: row.tenant_id,
        providerId: row.provider_id,
        providerIssuer: row.provider_issuer,
        writesUpstream: row.upstream_mode !== 'off' && row.upstream_base_url !== '',
      },
    };
  };
}

type FoundSource = ScimSourceRow & { source_id: string };

async function byProvisioningToken(db: Db, token: string): Promise<FoundSource> {
  const publicPrefix = parseProvisioningToken(token);
  const row = publicPrefix === undefined ? undefined : await db.row(findSourceOfToken(publicPrefix));
  const isGenuine = isSecretOf(token, row?.secret_hash);
  if (row === undefined || !isGenuine) return refuse('unknown provisioning token');
  if (!row.is_live) return refuse(`provisioning token ${publicPrefix} is not active`);
  return row as FoundSource;
}

async function byAccessToken(
  { settings, pool, signingKeys }: { settings: Settings; pool: Db; signingKeys: SigningKeys },
  token: string,
): Promise<FoundSource> {
  if (!signingKeys.isPresent) return refuse('no signing key');
  const claims = await verified(token, signingKeys, settings);
  if (claims['principal_type'] !== 'service_account') fail('scim_service_identity_required');
  const scope = claims['scope'];
  if (!Array.isArray(scope) || !scope.includes(settings.IAM_SCIM_SCOPE)) fail('scim_scope_required');
  const ids = [claims['credential_id'], claims.sub, claims['tenant_id']] as [string, string, string];
  const row = await pool.row(findSourceOfAccount(...ids));
  if (row === undefined || !row.is_live) return refuse('the service account is not active');
  if (row.source_id === null) fail('scim_source_required');
  return row as FoundSource;
}

async function verified(token: string, keys: SigningKeys, settings: Settings): Promise<JWTPayload> {
  // Any published key: while keys change, the token may come from a process that has another one sign already, or still.
  const keyOf = ({ kid }: { kid?: string }) =>
    keys.published(kid)?.publicKey ?? refuse('access token: of an unknown key');
  try {
    const { payload } = await jwtVerify(token, keyOf, {
      algorithms: ['RS256'],
      issuer: settings.issuer,
      audience: settings.IAM_SCIM_AUDIENCE,
      typ: 'at+jwt',
      requiredClaims: ['iss', 'sub', 'tenant_id', 'aud', 'iat', 'nbf', 'exp', 'jti', 'credential_id'],
    });
    if (typeof payload.aud !== 'string') return refuse('several audiences');
    return payload;
  } catch (error) {
    if (error instanceof Refusal) throw error;
    return refuse(`access token: ${(error as { code?: string }).code ?? 'unreadable'}`);
  }
}

function refuseOtherMedia(contentType: string | undefined): void {
  const media = contentType?.split(';', 1)[0]?.trim().toLowerCase();
  if (media !== 'application/scim+json' && media !== 'application/json') fail('scim_unsupported_media_type');
}

function refuse(reason: string): never {
  return fail('scim_unauthorized', {}, { headers: { 'www-authenticate': 'Bearer' }, reason });
}
