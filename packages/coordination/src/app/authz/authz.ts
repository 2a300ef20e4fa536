import { Refusal } from '@baton/kernel/refusal';
import { requireMayDisable, requireMayEnable } from '../../access/principals/disabling.ts';
import { getPrincipalRow } from '../../access/principals/principals.ts';
import { getRun } from '../../execution/runs/runs.ts';
import { getApprovalRow } from '../../results/approvals/approvals.ts';
import { requireMayDecide, requirePersonWhoDecides } from '../../results/approvals/deciders.ts';
import { holds, type Permission } from '../../service/permissions.ts';
import type { Context } from '../context.ts';
import { type ErrorCode, errors, fail } from '../errors.ts';
import type { ActionCheck, ActionCheckResult } from './action-check.ts';

/** The actions of each type of resource (organisation, section 21.4). */
export const actionsOf: Readonly<Record<ActionCheck['resourceType'], readonly ActionCheck['action'][]>> = {
  approval: ['approve', 'reject'],
  process_instance: ['suspend', 'resume', 'cancel'],
  run: ['request-cancel', 'cancel'],
  rule: ['enable', 'disable'],
  agent: ['update-state'],
  principal: ['enable', 'disable'],
};

/** The permission for the actions of resources that have no endpoints yet. */
const permissionOf: Readonly<
  Record<Exclude<ActionCheck['resourceType'], 'approval' | 'run' | 'principal'>, Permission>
> = {
  process_instance: 'processes.operate',
  rule: 'rules.write',
  agent: 'agents.manage',
};

const uuidForm = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * Says for each action whether the caller's rights would let it do that, without doing it. Whether the object's state
 * would is not asked, except for principals.
 * @throws Refusal `unknown_action` for an action that the type doesn't have, `invalid_check` for an id of another form
 */
export async function checkActions(
  context: Context,
  checks: readonly ActionCheck[],
): Promise<ActionCheckResult[]> {
  for (const [index, check] of checks.entries()) refuseMalformed(check, index);
  const results = [];
  for (const check of checks) {
    const reason = await reasonAgainst(context, check);
    results.push({ ...check, allowed: reason === null, reason });
  }
  return results;
}

function refuseMalformed({ action, resourceType, resourceId }: ActionCheck, index: number): void {
  if (!actionsOf[resourceType].includes(action)) fail('unknown_action', { index, action, resourceType });
  if (resourceType !== 'agent' && !uuidForm.test(resourceId)) fail('invalid_check', { index });
}

async function reasonAgainst(context: Context, check: ActionCheck) {
  try {
    await requireMayDo(context, check);
    return null;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return { code: error.code, message: errors[error.code as ErrorCode].when, details: error.details };
  }
}

/** Refuses as the action itself would. */
async function requireMayDo(
  context: Context,
  { action, resourceType, resourceId }: ActionCheck,
): Promise<void> {
  if (resourceType === 'approval') return requireMayDecideApproval(context, resourceId.toLowerCase());
  if (resourceType === 'run') return requireMayCancelRun(context, resourceId.toLowerCase());
  if (resourceType === 'principal')
    return requireMayChangePrincipal(context, action, resourceId.toLowerCase());
  // No object of the other types exists yet; a caller without the permission isn't told so.
  requireAny(context, [permissionOf[resourceType]]);
  fail('not_found');
}

async function requireMayDecideApproval(context: Context, approvalId: string): Promise<void> {
  requirePersonWhoDecides(context.caller);
  await requireMayDecide(context, await getApprovalRow(context, approvalId));
}

async function requireMayCancelRun(context: Context, runId: string): Promise<void> {
  requireAny(context, ['tasks.claim', 'claims.manage']);
  const { principalId } = await getRun(context, runId);
  const isOwn =
    principalId === context.caller.principalId && holds(context.caller.permissions, 'tasks.claim');
  if (!isOwn) requireAny(context, ['claims.manage']);
}

async function requireMayChangePrincipal(
  context: Context,
  action: string,
  principalId: string,
): Promise<void> {
  requireAny(context, ['principals.write']);
  const principal = await getPrincipalRow(context, principalId);
  const isDone = principal.status === (action === 'disable' ? 'disabled' : 'active');
  if (isDone) return;
  await (action === 'disable' ? requireMayDisable : requireMayEnable)(context, principal);
}

function requireAny({ caller }: Context, required: readonly Permission[]): void {
  if (!required.some((name) => holds(caller.permissions, name))) fail('permission_denied', { required });
}
