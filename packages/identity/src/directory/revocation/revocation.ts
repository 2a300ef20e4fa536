import { audit } from '../../records/audit.ts';
import { emit } from '../../records/journal/journal.ts';
import type { Context } from '../context.ts';
import type { Acting, Ending } from '../endings/ending.ts';
import { batchMax, firstBatchMax, leaveEnding, removeEnding } from '../endings/endings.ts';
import { credentialRevoked } from './credentials.events.ts';
import {
  countTokens,
  hasTokens,
  type RevokedBatch,
  type RevokedRow,
  updateRevokedGrantsBy,
  updateRevokedToken,
  updateRevokedTokens,
  updateTokenGeneration,
} from './revocation.sql.ts';

export interface RevocationOrder {
  tenantId: string;
  credentialId: string;
  reason: string;
  /** The actor in the audit log; the caller by default. */
  actor?: string;
}

/**
 * Revokes one token (see docs/reference/credentials.md#revoke-a-token).
 * @returns whether this call revoked the token; false if it doesn't exist or was revoked before, in which case it keeps
 * its reason
 */
export async function revokeToken(context: Acting, order: RevocationOrder): Promise<boolean> {
  const revoked = await context.db.row(updateRevokedToken(order));
  if (revoked !== undefined) recordRevocation(context, revoked, order.reason, order.actor);
  return revoked !== undefined;
}

/**
 * Revokes all of a principal's tokens, in whichever tenant they were issued, including expired ones. This transaction
 * revokes the first 100, so its duration doesn't depend on the number of tokens; the others are refused from its commit
 * on, and a job revokes them in batches. Grants by which a person has connected clients as an agent end, too. Call it
 * with the exclusive lock of the principal.
 * @returns the number of tokens
 */
export async function revokeTokensOfPrincipal(
  context: Context,
  { tenantId, principalId, reason }: { tenantId: string; principalId: string; reason: string },
): Promise<number> {
  const { db } = context;
  for (const row of await db.rows(updateRevokedGrantsBy(principalId, reason)))
    recordRevocation(context, row, reason);
  const { generation, count } = (await db.row(countTokens(principalId))) ?? { generation: 0, count: 0 };
  if (count === 0) return 0;
  const batch = { principalId, generation, reason, rowsMax: firstBatchMax };
  if ((await revokeBatch(context, batch)) === count) return count;
  await db.run(updateTokenGeneration(principalId));
  await leaveEnding(context, { tenantId, principalId, tokenGeneration: generation, reason });
  return count;
}

/**
 * Revokes the next tokens whose revocation was deferred when a principal was disabled. @returns the number of revoked
 * tokens
 */
export async function continueRevocation(ending: Ending): Promise<number> {
  const { db, row } = ending;
  const { principal_id: principalId, token_generation: generation, reason } = row;
  if (principalId === null || generation === null) return 0;
  const batch = { principalId, generation, reason, rowsMax: batchMax };
  const handled = await revokeBatch(ending, { ...batch, revokedAt: row.acknowledged_at });
  const left = await db.row(hasTokens(principalId, generation));
  if (left?.has_more === false) await removeEnding(db, row);
  return handled;
}

async function revokeBatch(context: Acting, batch: RevokedBatch): Promise<number> {
  const revoked = await context.db.rows(updateRevokedTokens(batch));
  for (const row of revoked) recordRevocation(context, row, batch.reason);
  return revoked.length;
}

function recordRevocation(context: Acting, revoked: RevokedRow, reason: string, actor?: string): void {
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
