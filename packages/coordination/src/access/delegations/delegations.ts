import { newId } from '@baton/kernel/ids';
import { cutPage, type Page } from '@baton/kernel/paging';
import type { z } from 'zod';
import { lockPrincipal } from '../authn/principal-lock.ts';
import type { Context } from '../context.ts';
import { parsePermissions } from '../granting.ts';
import { emit } from '../../ledger/journal/journal.ts';
import { fail } from '../errors.ts';
import type { Delegation, DelegationRequest } from './delegations.api.ts';
import { delegationCreated, delegationRevoked } from './delegations.events.ts';
import {
  delegationById,
  type DelegationRow,
  delegationsNewestFirst,
  insertDelegation,
  listDelegations,
  readNow,
  revokeDelegationsOf,
  revokeLiveDelegation,
} from './delegations.sql.ts';

/**
 * Lets an agent act for a human (core, section 4.2).
 * @throws Refusal `not_found`, `invalid_delegation`, `invalid_permissions`
 */
export async function createDelegation(
  context: Context,
  request: z.output<typeof DelegationRequest>,
): Promise<Delegation> {
  const { humanPrincipalId, agentPrincipalId } = request;
  const human = await lockPrincipal(context, humanPrincipalId);
  const agent = await lockPrincipal(context, agentPrincipalId);
  if (human.kind !== 'human') fail('invalid_delegation', { field: 'humanPrincipalId' });
  if (agent.kind !== 'agent') fail('invalid_delegation', { field: 'agentPrincipalId' });
  const { startsAt, expiresAt } = await periodOf(context, request);
  const permissions = parsePermissions(request.permissions);
  const { db, tenantId } = context;
  const values = {
    id: newId(),
    tenantId,
    humanPrincipalId,
    agentPrincipalId,
    permissions,
    startsAt,
    expiresAt,
  };
  const row = await db.row(insertDelegation(values));
  if (row === undefined) throw new Error('a new delegation was not stored');
  const payload = { humanPrincipalId, agentPrincipalId, permissions };
  emit(context, delegationCreated, { entityId: row.id }, payload);
  return delegationOf(row);
}

/** Both instants have the same form, so they compare as texts. */
async function periodOf({ db }: Context, request: { startsAt?: string | null; expiresAt?: string | null }) {
  const startsAt = request.startsAt ?? ((await db.row(readNow())) as { now: string }).now;
  const expiresAt = request.expiresAt ?? null;
  if (expiresAt !== null && expiresAt <= startsAt) fail('invalid_delegation', { field: 'expiresAt' });
  return { startsAt, expiresAt };
}

/** @throws Refusal `invalid_cursor` */
export async function readDelegations({ db, tenantId }: Context, page: Page) {
  const found = await db.rows(listDelegations(tenantId, page));
  const { rows, nextCursor } = cutPage(found, page, delegationsNewestFirst, (row) => [
    row.created_at,
    row.id,
  ]);
  return { items: rows.map(delegationOf), nextCursor };
}

/**
 * Revokes a delegation; repeated, it changes nothing. Its sessions end at their next touch (core, section 6.2).
 * @throws Refusal `not_found`
 */
export async function revokeDelegation(context: Context, delegationId: string): Promise<Delegation> {
  const { db, tenantId } = context;
  const revoked = await db.row(revokeLiveDelegation(tenantId, delegationId));
  if (revoked === undefined)
    return delegationOf(
      (await db.row(delegationById(tenantId, delegationId))) ?? fail('not_found', { delegationId }),
    );
  emit(context, delegationRevoked, { entityId: delegationId }, {});
  return delegationOf(revoked);
}

/** Revokes every delegation from or to a principal, for one reason; returns how many. */
export async function revokeAllDelegationsOf(
  context: Context,
  principalId: string,
  reason: string,
): Promise<number> {
  const revoked = await context.db.rows(revokeDelegationsOf(context.tenantId, principalId));
  for (const { id } of revoked) emit(context, delegationRevoked, { entityId: id }, { reason });
  return revoked.length;
}

function delegationOf(row: DelegationRow): Delegation {
  return {
    id: row.id,
    tenantId: row.tenant_id,
    humanPrincipalId: row.human_principal_id,
    agentPrincipalId: row.agent_principal_id,
    permissions: row.permissions,
    startsAt: row.starts_at,
    expiresAt: row.expires_at,
    revokedAt: row.revoked_at,
    createdAt: row.created_at,
  };
}
