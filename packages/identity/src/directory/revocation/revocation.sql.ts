import { sql } from '@baton/kernel/sql';
import type { CredentialKind } from '../../service/secrets.ts';

export interface RevokedRow {
  id: string;
  tenant_id: string;
  principal_id: string;
  public_prefix: string;
  kind: CredentialKind;
  audiences: string[];
}

export function revokeLiveToken(order: { tenantId: string; credentialId: string; reason: string }) {
  return sql<RevokedRow>`
    update platform_access_tokens set revoked_at = now(), revoke_reason = ${order.reason}
    where id = ${order.credentialId} and tenant_id = ${order.tenantId} and revoked_at is null
    returning id, tenant_id, principal_id, public_prefix, kind, audiences`;
}

export function revokeLiveTokens(principalId: string, reason: string) {
  return sql<RevokedRow>`
    with revoked as (
      update platform_access_tokens set revoked_at = now(), revoke_reason = ${reason}
      where principal_id = ${principalId} and revoked_at is null
      returning id, tenant_id, principal_id, public_prefix, kind, audiences, created_at
    )
    select id, tenant_id, principal_id, public_prefix, kind, audiences from revoked order by created_at, id`;
}
