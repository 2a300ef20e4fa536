import { holds, type Permission } from '../../service/permissions.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { findDelegatedRights, findLiveDelegations } from './delegated-rights.sql.ts';

/** A session of the caller, or the run that was started in it. */
export type InSession = { readonly sessionId: string } | { readonly runId: string };

/**
 * With `CP_DELEGATION_NARROWS`, what is written in a session that acts for a person needs the right in the delegation
 * too, unless that names none (core, section 23, W6). Without the setting it costs nothing. Rights of a delegation never
 * change, so nothing is locked; whether it is over is for the claim gate to say.
 * @throws Refusal `permission_denied` that names the delegation
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

/** The rights that a session is narrowed to; undefined where nothing narrows it. */
export async function delegatedRights({ db, tenantId, caller, settings }: Context, place: InSession) {
  if (!settings.CP_DELEGATION_NARROWS) return undefined;
  const delegated = await db.row(findDelegatedRights(tenantId, caller.principalId, place));
  return delegated === undefined || delegated.permissions.length === 0 ? undefined : delegated;
}

/**
 * What narrows that which the caller makes outside of any session, and which outlives them: the delegations that it acts
 * under in any of its sessions now.
 * @throws Refusal `permission_denied` that names a delegation without the permission
 */
export async function standingRights(
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
