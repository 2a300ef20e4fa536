import type { RowOf } from '@baton/kernel/database/row';
import { sql } from '@baton/kernel/database/sql';
import type { Tables } from '../../service/schema.ts';

export type RevokedRow = Pick<
  RowOf<Tables['platform_access_tokens']>,
  'id' | 'tenant_id' | 'principal_id' | 'public_prefix' | 'kind' | 'audiences'
>;

/** Returns no row for a revoked token, even if the job has not processed it yet. */
export function updateRevokedToken(order: { tenantId: string; credentialId: string; reason: string }) {
  return sql<RevokedRow>`
    update platform_access_tokens set revoked_at = now(), revoke_reason = ${order.reason}
    where id = ${order.credentialId} and tenant_id = ${order.tenantId} and revoked_at is null
      and generation = (select token_generation from principals p where p.id = platform_access_tokens.principal_id)
    returning id, tenant_id, principal_id, public_prefix, kind, audiences`;
}

/** The number of a principal's tokens that are not revoked, including expired ones. */
export function countTokens(principalId: string) {
  return sql<{ generation: number; count: number }>`
    select p.token_generation as generation, (
      select count(*) from platform_access_tokens t
      where t.principal_id = p.id and t.generation = p.token_generation and t.revoked_at is null) as count
    from principals p where p.id = ${principalId}`;
}

export interface RevokedBatch {
  principalId: string;
  generation: number;
  reason: string;
  /** By default now. */
  revokedAt?: string;
  rowsMax: number;
}

/** The oldest tokens. Skips locked ones, so that a locked token can't delay a disable. */
export function updateRevokedTokens(batch: RevokedBatch) {
  return sql<RevokedRow>`
    with due as materialized (
      select id from platform_access_tokens
      where principal_id = ${batch.principalId} and generation = ${batch.generation} and revoked_at is null
      order by created_at, id limit ${batch.rowsMax}
      for no key update skip locked
    ), revoked as (
      update platform_access_tokens t
      set revoked_at = coalesce(${batch.revokedAt ?? null}::timestamptz, now()), revoke_reason = ${batch.reason}
      from due where t.id = due.id
      returning t.id, tenant_id, principal_id, public_prefix, kind, audiences, created_at
    )
    select id, tenant_id, principal_id, public_prefix, kind, audiences from revoked order by created_at, id`;
}

export function hasTokens(principalId: string, generation: number) {
  return sql<{ has_more: boolean }>`
    select exists (
      select 1 from platform_access_tokens
      where principal_id = ${principalId} and generation = ${generation} and revoked_at is null) as has_more`;
}

/**
 * The grants of OAuth clients that a person has connected as an agent. Their number per person is bounded by
 * IAM_OAUTH_GRANTS_PER_PERSON_MAX.
 */
export function updateRevokedGrantsBy(personId: string, reason: string) {
  return sql<RevokedRow>`
    update platform_access_tokens set revoked_at = now(), revoke_reason = ${reason}
    where id in (select credential_id from oauth_grants where granted_by = ${personId})
      and principal_id <> ${personId} and revoked_at is null
    returning id, tenant_id, principal_id, public_prefix, kind, audiences`;
}

/** From here on, the principal's existing tokens are refused. */
export function updateTokenGeneration(principalId: string) {
  return sql`update principals set token_generation = token_generation + 1 where id = ${principalId}`;
}
