import { holds, type Permission } from '../../service/permissions.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { findDelegatedRights, findLiveDelegations } from './delegated-rights.sql.ts';

/** A session of the caller, or the run that was started in it. */
export type InSession = { readonly sessionId: string } | { readonly runId: string };

/**
 * With `CP_DELEGATION_NARROWS`, writes in a session for a person also require the permission in the delegation, unless
 * the delegation lists none. Without the setting there is no query. A delegation's permissions never change, so nothing
 * is locked; its expiry is checked by the claim gate. See docs/reference/sessions.md#delegations.
 * @throws Refusal `permission_denied` with the delegation
 */
export async function requireDelegated(
  context: Context,
  place: InSession,
  permission: Permission,
): Promise<void> {
  const delegated = await delegatedRights(context, place);
  if (delegated !== undefined && !holds(new Set(delegated.permissions), permission))
    fail('permission_denied', { required: [permission], delegationId: delegated.delegation_id });
}

/** The rights to which a session is limited; undefined without a limit. */
export async function delegatedRights({ db, tenantId, caller, settings }: Context, place: InSession) {
  if (!settings.CP_DELEGATION_NARROWS) return undefined;
  const delegated = await db.row(findDelegatedRights(tenantId, caller.principalId, place));
  return delegated === undefined || delegated.permissions.length === 0 ? undefined : delegated;
}

/**
 * Limits objects that the caller creates outside any session, and which outlive sessions: the delegations of all the
 * caller's current sessions must permit them.
 * @throws Refusal `permission_denied` with a delegation that lacks the permission
 */
export async function requireStandingRights(
  { db, tenantId, caller, settings }: Context,
  permission: Permission,
): Promise<ReadonlySet<string>[]> {
  if (!settings.CP_DELEGATION_NARROWS) return [];
  const delegations = await db.rows(findLiveDelegations(tenantId, caller.principalId));
  return delegations.map(({ delegation_id: delegationId, permissions }) => {
    const allowed = new Set(permissions);
    if (!holds(allowed, permission)) fail('permission_denied', { required: [permission], delegationId });
    return allowed;
  });
}
