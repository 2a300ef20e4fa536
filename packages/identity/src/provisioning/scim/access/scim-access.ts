import type { RequestHead } from '@baton/kernel/http/http-message';
import type { Operation } from '@baton/kernel/http/service';
import { type CredentialReads, limitCredentialReads } from '@baton/kernel/limits/concurrency-limit';
import { limitFailures } from '../../../credentials/failure-limits/failure-limits.ts';
import {
  AccessTokenRefused,
  scopesIn,
  verifyOwnAccessToken,
} from '../../../issuing/signing-keys/own-access-tokens.ts';
import { isSecretOf } from '../../../service/secrets.ts';
import type { Caller, ScimSource } from '../../caller.ts';
import type { Context } from '../../context.ts';
import { type ErrorCode, fail } from '../../errors.ts';
import { parseProvisioningToken } from '../../provisioning-sources/provisioning-tokens.ts';
import type { UpstreamSource } from '../../upstream-directory/upstream-directory.ts';
import { findSourceOfAccount, findSourceOfToken, type ScimSourceRow } from './scim-access.sql.ts';
import { type ScimDenial, ScimDenials } from './scim-denials.ts';

/** The source of a SCIM request. @throws Error at an endpoint that admits other callers */
export function sourceOf({ caller }: Pick<Context, 'caller'>): ScimSource {
  if (caller.scim === undefined) throw new Error('the endpoint admits callers without a source');
  return caller.scim;
}

type Parts = Pick<
  Context,
  'settings' | 'pool' | 'signingKeys' | 'failureLimits' | 'counters' | 'ledger' | 'log'
>;
type FoundSource = ScimSourceRow & { source_id: string };
/** Refuses a request whose credential belongs to a tenant, and records the denial in the tenant's audit log. */
type Deny = (code: ErrorCode, why: string, denied: Denied) => never;
type Denied = Omit<ScimDenial, 'reason'> & { readonly credential: string };

/**
 * Creates the check before every SCIM endpoint (see docs/reference/scim.md#access): an access token of this issuer, or
 * a provisioning token. Nothing is cached: a revoked account is refused at once.
 */
export function createScimAdmission(parts: Parts) {
  const { failureLimits, counters } = parts;
  const denials = new ScimDenials(parts.ledger, parts.log);
  // Anyone can forge a provisioning token; an access token is verified before its account is read.
  const tokenReads = limitCredentialReads(parts.settings.IAM_DATABASE_CONNECTIONS_MAX);
  const accountReads = limitCredentialReads(parts.settings.IAM_DATABASE_CONNECTIONS_MAX);
  /** @throws Refusal `scim_unauthorized` and the other access codes; `rate_limited`; `scim_unsupported_media_type` */
  return async ({ headers, address, requestId }: RequestHead, endpoint: Operation): Promise<Caller> => {
    const token = /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1] ?? refuse('no bearer token');
    const publicPrefix = parseProvisioningToken(token);
    const deny: Deny = (code, why, { credential, ...denial }) => {
      const reason = `${credential} ${why}`;
      counters.presented('scim', why);
      denials.record(requestId, { ...denial, reason });
      return code === 'scim_unauthorized' ? refuse(reason) : fail(code, {}, { reason });
    };
    const credential = publicPrefix === undefined ? undefined : `scim:${publicPrefix}`;
    const row = await limitFailures({ failureLimits, address }, credential, () =>
      token.startsWith('iam_scim_')
        ? byProvisioningToken(parts, tokenReads, token, publicPrefix, deny)
        : byAccessToken(parts, accountReads, token, deny),
    );
    if (row.provider_status !== 'active') {
      const denied = deniedSource(row, credential ?? 'access_token');
      deny('scim_identity_provider_inactive', 'identity_provider_inactive', denied);
    }
    counters.presented('scim', 'admitted');
    const hasBody = headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
    if (endpoint.body !== undefined && hasBody) requireScimMedia(headers['content-type']);
    return {
      actor: `provisioning_source:${row.key}`,
      scim: {
        id: row.source_id,
        key: row.key,
        tenantId: row.tenant_id,
        providerId: row.provider_id,
        providerIssuer: row.provider_issuer,
        upstream: upstreamOf(row),
      },
    };
  };
}

async function byProvisioningToken(
  { pool, counters }: Parts,
  reads: CredentialReads,
  token: string,
  publicPrefix: string | undefined,
  deny: Deny,
): Promise<FoundSource> {
  const row =
    publicPrefix === undefined ? undefined : await reads(() => pool.row(findSourceOfToken(publicPrefix)));
  const isGenuine = isSecretOf(token, row?.secret_hash);
  if (row === undefined) {
    counters.presented('scim', 'unknown');
    return refuse(publicPrefix === undefined ? 'unknown token form' : `scim:${publicPrefix} unknown_prefix`);
  }
  const source = row as FoundSource;
  const denied = deniedSource(source, `scim:${publicPrefix}`);
  if (!isGenuine) return deny('scim_unauthorized', 'wrong_secret', denied);
  if (!row.is_live) return deny('scim_unauthorized', 'not_active', denied);
  return source;
}

async function byAccessToken(
  parts: Parts,
  reads: CredentialReads,
  token: string,
  deny: Deny,
): Promise<FoundSource> {
  const { settings, pool, signingKeys, counters } = parts;
  const audience = settings.IAM_SCIM_AUDIENCE;
  const verified = verifyOwnAccessToken(token, { keys: signingKeys, settings, audience });
  const claims = await verified.catch((error: unknown) => {
    counters.presented('scim', 'unknown');
    if (error instanceof AccessTokenRefused) return refuse(`access token: ${error.message}`);
    throw error;
  });
  const { credential_id: accountId, sub: principalId, tenant_id: tenantId } = claims;
  const bearer: Denied = {
    tenantId,
    resource: ['principal', principalId],
    actor: principalId,
    credential: 'access_token',
  };
  if (claims['principal_type'] !== 'service_account')
    deny('scim_service_identity_required', 'service_identity_required', bearer);
  if (!scopesIn(claims['scope']).includes(settings.IAM_SCIM_SCOPE))
    deny('scim_scope_required', 'scope_required', bearer);
  const row = await reads(() => pool.row(findSourceOfAccount(accountId, principalId, tenantId)));
  if (row === undefined || !row.is_live) return deny('scim_unauthorized', 'account_not_active', bearer);
  if (row.source_id === null) deny('scim_source_required', 'source_required', bearer);
  return row as FoundSource;
}

function upstreamOf(row: FoundSource): UpstreamSource | undefined {
  const { source_id: sourceId, upstream_mode: mode, upstream_base_url: baseUrl, upstream_realm: realm } = row;
  return mode === 'off' || baseUrl === '' ? undefined : { sourceId, mode, baseUrl, realm };
}

function deniedSource({ tenant_id, source_id, key }: FoundSource, credential: string): Denied {
  return {
    credential,
    tenantId: tenant_id,
    resource: ['provisioning_source', source_id],
    actor: `provisioning_source:${key}`,
  };
}

function requireScimMedia(contentType: string | undefined): void {
  const media = contentType?.split(';', 1)[0]?.trim().toLowerCase();
  if (media !== 'application/scim+json' && media !== 'application/json') fail('scim_unsupported_media_type');
}

function refuse(reason: string): never {
  return fail('scim_unauthorized', {}, { headers: { 'www-authenticate': 'Bearer' }, reason });
}
