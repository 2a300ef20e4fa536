import { audit } from '../../records/audit.ts';
import { emit } from '../../records/journal/journal.ts';
import type { Context } from '../context.ts';
import { credentialRevoked } from './credentials.events.ts';
import { type RevokedRow, updateRevokedToken, updateRevokedTokensOf } from './revocation.sql.ts';

export interface RevocationOrder {
  tenantId: string;
  credentialId: string;
  reason: string;
  /** Who asks, as the audit record names them; by default the caller. */
  actor?: string;
}

/**
 * Revokes one token (contract, section 7).
 * @returns whether this call revoked it; false for one that was revoked before, which keeps its reason, or is absent
 */
export async function revokeToken(context: Context, order: RevocationOrder): Promise<boolean> {
  const revoked = await context.db.row(updateRevokedToken(order));
  if (revoked !== undefined) recordRevocation(context, revoked, order.reason, order.actor);
  return revoked !== undefined;
}

/**
 * Revokes every token of a principal, in whichever tenant it was issued; expired ones too.
 * @returns how many it revoked
 */
export async function revokeTokensOfPrincipal(
  context: Context,
  principalId: string,
  reason: string,
): Promise<number> {
  const revoked = await context.db.rows(updateRevokedTokensOf(principalId, reason));
  for (const row of revoked) recordRevocation(context, row, reason);
  return revoked.length;
}

function recordRevocation(context: Context, revoked: RevokedRow, reason: string, actor?: string): void {
  const { id, tenant_id: tenantId, public_prefix: publicPrefix } = revoked;
  emit(
    context,
    credentialRevoked,
    { tenantId, aggregateId: id },
    {
      credentialId: id,
      principalId: revoked.principal_id,
      publicPrefix,
      kind: revoked.kind,
      audiences: revoked.audiences,
      reason,
    },
  );
  audit(context, {
    tenantId,
    action: 'platform_access_tokens.revoke',
    resource: ['platform_access_token', id],
    reason: `pat:${publicPrefix} reason:${reason}`,
    ...(actor === undefined ? {} : { actor }),
  });
}
