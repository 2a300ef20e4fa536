import { audit } from '../../records/audit.ts';
import { emit } from '../../records/journal/journal.ts';
import type { Acting } from '../endings/ending.ts';
import { invitationRevoked } from './invitations.events.ts';
import { type InvitationsToRevoke, updateRevokedInvitations } from './invitations.sql.ts';

/**
 * Revokes invitations and recovery links: one, or those of a person, who has at most one that is open in each tenant.
 * @returns how many this call revoked
 */
export async function revokeInvitations(context: Acting, order: InvitationsToRevoke): Promise<number> {
  const { reason } = order;
  const revoked = await context.db.rows(updateRevokedInvitations(order));
  for (const { id: invitationId, tenant_id: tenantId, principal_id: principalId, kind } of revoked) {
    const payload = { invitationId, principalId, kind, reason };
    emit(context, invitationRevoked, { tenantId, aggregateId: invitationId }, payload);
    audit(context, {
      tenantId,
      action: 'invitations.revoke',
      resource: ['invitation', invitationId],
      reason: `principal:${principalId} reason:${reason}`,
    });
  }
  return revoked.length;
}
