import type { RowOf } from '@baton/kernel/row';
import { sql } from '@baton/kernel/sql';
import type { Tables } from '../../service/schema.ts';

export type RevokedRow = Pick<
  RowOf<Tables['platform_access_tokens']>,
  'id' | 'tenant_id' | 'principal_id' | 'public_prefix' | 'kind' | 'audiences'
>;

export function updateRevokedToken(order: { tenantId: string; credentialId: string; reason: string }) {
  return sql<RevokedRow>`
    update platform_access_tokens set revoked_at = now(), revoke_reason = ${order.reason}
    where id = ${order.credentialId} and tenant_id = ${order.tenantId} and revoked_at is null
    returning id, tenant_id, principal_id, public_prefix, kind, audiences`;
}

export function updateRevokedTokensOf(principalId: string, reason: string) {
  return sql<RevokedRow>`
    with revoked as (
      update platform_access_tokens set revoked_at = now(), revoke_reason = ${reason}
      where principal_id = ${principalId} and revoked_at is null
      returning id, tenant_id, principal_id, public_prefix, kind, audiences, created_at
    )
    select id, tenant_id, principal_id, public_prefix, kind, audiences from revoked order by created_at, id`;
}
