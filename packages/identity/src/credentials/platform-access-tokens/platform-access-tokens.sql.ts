import { part, sql } from '@baton/kernel/database/sql';
import type { CreatedPosition } from '../../service/pages.ts';
import type { PlatformAccessTokenRow, SignInSnapshot, TokenColumns } from './platform-access-token.ts';

export interface NewCredential {
  id: string;
  tenantId: string;
  principalId: string;
  kind: TokenColumns['kind'];
  name: string;
  publicPrefix: string;
  secretHash: string;
  audiences: readonly string[];
  scopeCeiling: readonly string[];
  snapshot: SignInSnapshot;
  /** Either this or `expiresAt` is set. */
  ttlSeconds: number | null;
  expiresAt: string | null;
  rotatedFromId: string | null;
  idempotencyKey: string | null;
  fingerprint: string | null;
}

/**
 * The principal is locked. Returns no row if its prefix, hash or Idempotency-Key is taken; waits for a transaction that
 * is taking one of them.
 */
export function insertCredential(made: NewCredential) {
  const { snapshot } = made;
  return sql<PlatformAccessTokenRow>`
    insert into platform_access_tokens (id, tenant_id, principal_id, kind, name, public_prefix, secret_hash, audiences,
      scope_ceiling, origin, authentication_context_id, auth_issuer, acr, amr, auth_time, expires_at, rotated_from_id,
      idempotency_key, idempotency_fingerprint, generation)
    values (${made.id}, ${made.tenantId}, ${made.principalId}, ${made.kind}, ${made.name}, ${made.publicPrefix},
      ${made.secretHash}, ${made.audiences}, ${made.scopeCeiling}, ${snapshot.origin},
      ${snapshot.authentication_context_id}, ${snapshot.auth_issuer}, ${snapshot.acr}, ${snapshot.amr},
      ${snapshot.auth_time},
      coalesce(${made.expiresAt}::timestamptz, now() + make_interval(secs => ${made.ttlSeconds})),
      ${made.rotatedFromId}, ${made.idempotencyKey}, ${made.fingerprint},
      (select token_generation from principals where id = ${made.principalId}))
    on conflict do nothing
    returning id, tenant_id, principal_id, kind, name, public_prefix, audiences, scope_ceiling, created_at, expires_at,
      last_used_at, revoked_at, revoke_reason, rotated_from_id`;
}

/**
 * If a token's principal was disabled, returns the token as revoked even while its revocation is pending, like every
 * read of a token.
 */
export function findByIdempotencyKey(tenantId: string, key: string) {
  return sql<PlatformAccessTokenRow & Pick<TokenColumns, 'idempotency_fingerprint'>>`
    select t.id, t.tenant_id, t.principal_id, kind, name, public_prefix, audiences, scope_ceiling, created_at, expires_at,
      last_used_at, coalesce(revoked_at, e.acknowledged_at) as revoked_at,
      case when revoked_at is null and e.id is not null then e.reason else revoke_reason end as revoke_reason,
      rotated_from_id, idempotency_fingerprint
    from platform_access_tokens t
    left join endings e on e.principal_id = t.principal_id and e.token_generation = t.generation
    where t.tenant_id = ${tenantId} and idempotency_key = ${key}`;
}

export interface CredentialFilter {
  tenantId: string;
  principalId?: string | undefined;
  includeRevoked: boolean;
  after: CreatedPosition;
  /** The maximum number of rows; undefined for all rows that follow. */
  rowsMax: number | undefined;
}

/**
 * Selects the credentials `t`. The ending `e` of a principal revokes them even if their own row isn't marked as revoked
 * yet.
 */
function selectCredentials() {
  return part`select t.id, t.tenant_id, t.principal_id, kind, name, public_prefix, audiences, scope_ceiling, created_at, expires_at,
      last_used_at, coalesce(revoked_at, e.acknowledged_at) as revoked_at,
      case when revoked_at is null and e.id is not null then e.reason else revoke_reason end as revoke_reason,
      rotated_from_id
    from platform_access_tokens t
    left join endings e on e.principal_id = t.principal_id and e.token_generation = t.generation`;
}

export function findCredentials({ tenantId, includeRevoked, after, rowsMax, ...filter }: CredentialFilter) {
  const principalId = filter.principalId ?? null;
  return sql<PlatformAccessTokenRow>`
    ${selectCredentials()}
    where t.tenant_id = ${tenantId} and (created_at, t.id) > (${after[0]}::timestamptz, ${after[1]}::uuid)
      and (${principalId}::uuid is null or t.principal_id = ${principalId}::uuid)
      and (${includeRevoked}::boolean or revoked_at is null and e.id is null)
    order by created_at, t.id
    limit ${rowsMax ?? null}`;
}

export function findCredential(tenantId: string, credentialId: string) {
  return sql<PlatformAccessTokenRow>`
    ${selectCredentials()}
    where t.id = ${credentialId} and t.tenant_id = ${tenantId}`;
}

export function findOwner(tenantId: string, credentialId: string) {
  return sql<Pick<TokenColumns, 'principal_id'>>`
    select principal_id from platform_access_tokens where id = ${credentialId} and tenant_id = ${tenantId}`;
}

/** Locks a token for its rotation, with the sign-in that its successor inherits. */
export function lockCredential(credentialId: string) {
  return sql<PlatformAccessTokenRow & SignInSnapshot & { is_expired: boolean }>`
    select t.id, t.tenant_id, t.principal_id, kind, name, public_prefix, audiences, scope_ceiling, created_at, expires_at,
      last_used_at, coalesce(revoked_at, e.acknowledged_at) as revoked_at,
      case when revoked_at is null and e.id is not null then e.reason else revoke_reason end as revoke_reason,
      rotated_from_id, origin, authentication_context_id, auth_issuer, acr,
      amr, auth_time, expires_at <= now() as is_expired
    from platform_access_tokens t
    left join endings e on e.principal_id = t.principal_id and e.token_generation = t.generation
    where t.id = ${credentialId}
    for no key update of t`;
}

export function updateRotated(credentialId: string) {
  return sql`
    update platform_access_tokens set revoked_at = now(), revoke_reason = 'rotated' where id = ${credentialId}`;
}
