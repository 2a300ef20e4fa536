import type { RowOf } from '@baton/kernel/database/row';
import { sql } from '@baton/kernel/database/sql';
import type { Tables } from '../../service/schema.ts';
import type { ProvisioningTokenRow } from './provisioning-token.ts';

type TokenRow = RowOf<Tables['provisioning_tokens']>;

export function insertProvisioningToken(token: {
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
    values (${token.id}, ${token.tenantId}, ${token.sourceId}, ${token.name}, ${token.publicPrefix}, ${token.secretHash},
      now() + make_interval(secs => ${token.ttlSeconds}), ${token.idempotencyKey}, ${token.fingerprint})
    returning id, name, public_prefix, created_at, expires_at, revoked_at`;
}

/** The token that an earlier request with this Idempotency-Key created. */
export function findTokenByKey(sourceId: string, key: string) {
  return sql<ProvisioningTokenRow & Pick<TokenRow, 'idempotency_fingerprint'>>`
    select id, name, public_prefix, created_at, expires_at, revoked_at, idempotency_fingerprint
    from provisioning_tokens where provisioning_source_id = ${sourceId} and idempotency_key = ${key}`;
}

export function findProvisioningTokens(sourceId: string) {
  return sql<ProvisioningTokenRow>`
    select id, name, public_prefix, created_at, expires_at, revoked_at
    from provisioning_tokens where provisioning_source_id = ${sourceId} order by created_at, id`;
}

/** Counts the tokens that are neither revoked nor expired. */
export function countLiveTokens(sourceId: string) {
  return sql<{ count: number }>`
    select count(*) as count from provisioning_tokens
    where provisioning_source_id = ${sourceId} and revoked_at is null and expires_at > now()`;
}

/** Revokes a token. Returns no row if the source has no such token; `is_first` if it had not been revoked before. */
export function updateRevoked(sourceId: string, tokenId: string) {
  return sql<Pick<TokenRow, 'public_prefix'> & { is_first: boolean }>`
    with held as materialized (
      select id, public_prefix, revoked_at is null as is_first from provisioning_tokens
      where id = ${tokenId} and provisioning_source_id = ${sourceId}
      for no key update
    ), revoked as (
      update provisioning_tokens t set revoked_at = now() from held where t.id = held.id and held.is_first
    )
    select public_prefix, is_first from held`;
}
