import { type ItemPage, listPage } from '@baton/kernel/database/list';
import type { Page } from '@baton/kernel/http/paging';
import { newId } from '@baton/values/ids';
import { emit } from '../../ledger/journal/journal.ts';
import { holds } from '../../service/permissions.ts';
import { lockPrincipal } from '../authn/principal-lock.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { parsePermissions } from '../permission-list.ts';
import { type Delegation, type DelegationRequest, delegationOf } from './delegation.ts';
import { delegationCreated, delegationRevoked } from './delegations.events.ts';
import {
  findDelegation,
  findDelegations,
  findNow,
  insertDelegation,
  updateDelegationsToRevoked,
  updateDelegationToRevoked,
} from './delegations.sql.ts';

/**
 * Lets an agent act for a human. Only that human may do so, or another human with `admin`.
 * @throws Refusal `permission_denied`, `not_found`, `invalid_delegation`, `invalid_permissions`
 */
export async function createDelegation(context: Context, request: DelegationRequest): Promise<Delegation> {
  const { humanPrincipalId, agentPrincipalId } = request;
  requireDelegator(context, humanPrincipalId);
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

/**
 * `delegations.manage` covers only the caller's own delegations: otherwise an agent with it could delegate from an
 * administrator to itself.
 */
function requireDelegator({ caller }: Context, humanPrincipalId: string): void {
  const isOwn = caller.principalId === humanPrincipalId;
  if (caller.kind !== 'human' || !(isOwn || holds(caller.permissions, 'admin')))
    fail('permission_denied', { required: ['admin'] });
}

/** Both instants have the same format, so they can be compared as strings. */
async function periodOf({ db }: Context, request: DelegationRequest) {
  const startsAt = request.startsAt ?? ((await db.row(findNow())) as { now: string }).now;
  const expiresAt = request.expiresAt ?? null;
  if (expiresAt !== null && expiresAt <= startsAt) fail('invalid_delegation', { field: 'expiresAt' });
  return { startsAt, expiresAt };
}

/** @throws Refusal `invalid_cursor` */
export async function listDelegations({ db, tenantId }: Context, page: Page): Promise<ItemPage<Delegation>> {
  return listPage(db, findDelegations(tenantId, page), delegationOf);
}

/**
 * Revokes a delegation; revoking it again changes nothing. Its sessions end at their next use. See
 * docs/reference/sessions.md#delegations.
 * @throws Refusal `not_found`
 */
export async function revokeDelegation(context: Context, delegationId: string): Promise<Delegation> {
  const { db, tenantId } = context;
  const revoked = await db.row(updateDelegationToRevoked(tenantId, delegationId));
  if (revoked === undefined)
    return delegationOf(
      (await db.row(findDelegation(tenantId, delegationId))) ?? fail('not_found', { delegationId }),
    );
  emit(context, delegationRevoked, { entityId: delegationId }, {});
  return delegationOf(revoked);
}

/** Revokes every delegation from or to a principal. @returns their number */
export async function revokeAllDelegationsOf(
  context: Context,
  principalId: string,
  reason: string,
): Promise<number> {
  const revoked = await context.db.rows(updateDelegationsToRevoked(context.tenantId, principalId));
  for (const { id } of revoked) emit(context, delegationRevoked, { entityId: id }, { reason });
  return revoked.length;
}
