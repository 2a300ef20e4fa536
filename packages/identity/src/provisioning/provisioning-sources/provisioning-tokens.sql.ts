import { sql } from '@baton/kernel/sql';

export interface ProvisioningTokenRow {
  id: string;
  name: string;
  public_prefix: string;
  created_at: string;
  expires_at: string;
  revoked_at: string | null;
}

export function insertProvisioningToken(made: {
  id: string;
  tenantId: string;
  sourceId: string;
  name: string;
  publicPrefix: string;
  secretHash: string;
  ttlSeconds: number;
  idempotencyKey: string | null;
  fingerprint: string;
}) {
  return sql<ProvisioningTokenRow>`
    insert into provisioning_tokens (id, tenant_id, provisioning_source_id, name, public_prefix, secret_hash, expires_at,
      idempotency_key, idempotency_fingerprint)
    values (${made.id}, ${made.tenantId}, ${made.sourceId}, ${made.name}, ${made.publicPrefix}, ${made.secretHash},
      now() + make_interval(secs => ${made.ttlSeconds}), ${made.idempotencyKey}, ${made.fingerprint})
    returning id, name, public_prefix, created_at, expires_at, revoked_at`;
}

export function findTokenByKey(sourceId: string, key: string) {
  return sql<ProvisioningTokenRow & { idempotency_fingerprint: string }>`
    select id, name, public_prefix, created_at, expires_at, revoked_at, idempotency_fingerprint
    from provisioning_tokens where provisioning_source_id = ${sourceId} and idempotency_key = ${key}`;
}

export function findProvisioningTokens(sourceId: string) {
  return sql<ProvisioningTokenRow>`
    select id, name, public_prefix, created_at, expires_at, revoked_at
    from provisioning_tokens where provisioning_source_id = ${sourceId} order by created_at, id`;
}

export function countLiveTokens(sourceId: string) {
  return sql<{ count: number }>`
    select count(*) as count from provisioning_tokens
    where provisioning_source_id = ${sourceId} and revoked_at is null and expires_at > now()`;
}

/** A row for a token of the source; `is_first` when this call revoked it. */
export function revokeProvisioningToken(sourceId: string, tokenId: string) {
  return sql<{ public_prefix: string; is_first: boolean }>`
    with held as materialized (
      select id, public_prefix, revoked_at is null as is_first from provisioning_tokens
      where id = ${tokenId} and provisioning_source_id = ${sourceId}
      for no key update
    ), revoked as (
      update provisioning_tokens t set revoked_at = now() from held where t.id = held.id and held.is_first
    )
    select public_prefix, is_first from held`;
}
