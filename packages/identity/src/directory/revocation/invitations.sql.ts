import type { RowOf } from '@baton/kernel/database/row';
import { sql } from '@baton/kernel/database/sql';
import type { Tables } from '../../service/schema.ts';

export interface InvitationsToRevoke {
  reason: string;
  /** Only those in this tenant. */
  tenantId?: string;
  /** Only those of this person. */
  principalId?: string;
  /** Only this one. */
  invitationId?: string;
}

/** Revokes links that were not accepted, including expired ones. */
export function updateRevokedInvitations({
  tenantId,
  principalId,
  invitationId,
  reason,
}: InvitationsToRevoke) {
  return sql<Pick<RowOf<Tables['invitations']>, 'id' | 'tenant_id' | 'principal_id' | 'kind'>>`
    update invitations set revoked_at = now(), revoke_reason = ${reason}
    where accepted_at is null and revoked_at is null
      and (${tenantId ?? null}::uuid is null or tenant_id = ${tenantId ?? null}::uuid)
      and (${principalId ?? null}::uuid is null or principal_id = ${principalId ?? null}::uuid)
      and (${invitationId ?? null}::uuid is null or id = ${invitationId ?? null}::uuid)
    returning id, tenant_id, principal_id, kind`;
}
