import { Refusal } from '@baton/kernel/http/refusal';
import type { Resource } from '../../access/policy/decision.ts';
import { PolicyRights } from '../../access/policy/rights.ts';
import { requireMayDisable, requireMayEnable } from '../../access/principals/disable-principal.ts';
import { getPrincipalRow } from '../../access/principals/principals.ts';
import { requireController } from '../../execution/control-messages/control-messages.ts';
import { requireRunHolder } from '../../execution/runs/end-run.ts';
import { getRun } from '../../execution/runs/runs.ts';
import { getInstance } from '../../processes/instances/instances.ts';
import { getSeenAgent } from '../../registry/agents/agents.ts';
import { getApprovalRow } from '../../results/approvals/approvals.ts';
import { requireMayDecide, requirePersonWhoDecides } from '../../results/approvals/deciders.ts';
import { requireMayEnableRule } from '../../rules/catalog/rule-changes.ts';
import { getRuleRow } from '../../rules/catalog/rules.ts';
import { holds, type Permission } from '../../service/permissions.ts';
import type { Context } from '../context.ts';
import { type ErrorCode, errors, fail } from '../errors.ts';
import type { ActionCheck, ActionCheckResult } from './action-check.ts';
import { type Basis, explainPermission, loadCredential } from './explanation.ts';

/** The actions of each type of resource. See docs/reference/authorization.md#check-your-own-actions. */
export const actionsOf: Readonly<Record<ActionCheck['resourceType'], readonly ActionCheck['action'][]>> = {
  approval: ['approve', 'reject'],
  process_instance: ['suspend', 'resume', 'cancel'],
  run: ['request-cancel', 'cancel'],
  rule: ['enable', 'disable'],
  agent: ['update-state'],
  principal: ['enable', 'disable'],
};

/** The permissions that allow a type's actions; the one that applies depends on the object. */
const permissionsOf: Readonly<Record<ActionCheck['resourceType'], readonly [Permission, ...Permission[]]>> = {
  approval: ['approvals.decide'],
  process_instance: ['processes.operate'],
  run: ['tasks.claim', 'claims.manage'],
  rule: ['rules.write'],
  agent: ['agents.manage'],
  principal: ['principals.write'],
};

const uuidForm = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * Returns for each action whether the caller's rights allow it, and the reason, without performing it. The object's
 * state isn't checked, except for principals.
 * @throws Refusal `unknown_action` for an action that the type doesn't have, `invalid_check` for a malformed id,
 * `policy_unavailable` for all checks if one can't be decided
 */
export async function checkActions(
  context: Context,
  checks: readonly ActionCheck[],
): Promise<ActionCheckResult[]> {
  for (const [index, check] of checks.entries()) refuseMalformed(check, index);
  const contexts = await contextsOf(context, checks);
  const shared = await loadCredential(context);
  const results = [];
  for (const [index, check] of checks.entries()) {
    const asking = contexts[index] as Context;
    const { reason, basis } = await verdictOn(asking, check);
    results.push({
      ...check,
      allowed: reason === null,
      reason,
      explanation: explainPermission(asking, shared, basis),
    });
  }
  return results;
}

/** Returns a context per check, with the decision point's grants on its object; all are requested together. */
async function contextsOf(context: Context, checks: readonly ActionCheck[]): Promise<Context[]> {
  const { caller } = context;
  const { permissions } = caller;
  if (!(permissions instanceof PolicyRights)) return checks.map(() => context);
  const places = new Map<string, readonly Resource[]>();
  for (const kind of ['approval', 'run', 'rule'] as const) {
    const ids = checks.filter((check) => check.resourceType === kind).map(idOf);
    if (ids.length === 0) continue;
    for (const [id, place] of await permissions.placesOf(kind, ids)) places.set(id, place);
  }
  const asked = checks.map((check) => {
    const rights = permissions.about(caller, places.get(idOf(check)) ?? []);
    return { rights, actions: permissionsOf[check.resourceType] };
  });
  await permissions.askAll(asked);
  return asked.map(({ rights }) => ({ ...context, caller: { ...caller, permissions: rights } }));
}

const idOf = ({ resourceId }: ActionCheck) => resourceId.toLowerCase();

function refuseMalformed({ action, resourceType, resourceId }: ActionCheck, index: number): void {
  if (!actionsOf[resourceType].includes(action)) fail('unknown_action', { index, action, resourceType });
  if (resourceType !== 'agent' && !uuidForm.test(resourceId)) fail('invalid_check', { index });
}

async function verdictOn(context: Context, check: ActionCheck): Promise<{ reason: Reason; basis: Basis }> {
  try {
    return { reason: null, basis: await requireMayDo(context, check) };
  } catch (error) {
    if (!(error instanceof Refusal) || error.code === 'policy_unavailable') throw error;
    const { code, details } = error;
    const reason = { code, message: errors[code as ErrorCode].when, details };
    // The last permission is sufficient for every caller; the earlier ones apply only to the object's owner.
    const required = (details['required'] as readonly Permission[] | undefined) ?? [];
    const known = permissionsOf[check.resourceType];
    const permission = required.at(-1) ?? known.at(-1) ?? known[0];
    return { reason, basis: { permission } };
  }
}

/**
 * Refuses in the same way as the action itself.
 * @returns the basis of the permission
 */
async function requireMayDo(
  context: Context,
  { action, resourceType, resourceId }: ActionCheck,
): Promise<Basis> {
  if (resourceType === 'approval') return requireMayDecideApproval(context, resourceId.toLowerCase());
  if (resourceType === 'run') return requireMayCancelRun(context, action, resourceId.toLowerCase());
  if (resourceType === 'principal')
    return requireMayChangePrincipal(context, action, resourceId.toLowerCase());
  if (resourceType === 'rule') {
    requireAny(context, permissionsOf.rule);
    const rule = await getRuleRow(context, resourceId.toLowerCase());
    if (action === 'enable') await requireMayEnableRule(context, rule);
    return { permission: 'rules.write' };
  }
  if (resourceType === 'agent') {
    requireAny(context, permissionsOf.agent);
    await getSeenAgent(context, resourceId);
    return { permission: 'agents.manage' };
  }
  requireAny(context, permissionsOf[resourceType]);
  await getInstance(context, resourceId.toLowerCase());
  return { permission: 'processes.operate' };
}

async function requireMayDecideApproval(context: Context, approvalId: string): Promise<Basis> {
  requirePersonWhoDecides(context.caller);
  const approval = await getApprovalRow(context, approvalId);
  await requireMayDecide(context, approval);
  return { permission: 'approvals.decide', roleId: approval.required_role_id };
}

async function requireMayCancelRun(context: Context, action: string, runId: string): Promise<Basis> {
  const isRequest = action === 'request-cancel';
  requireAny(context, permissionsOf.run, isRequest ? ['claims.manage'] : permissionsOf.run);
  const { principalId } = await getRun(context, runId);
  await (isRequest ? requireController : requireRunHolder)(context, runId);
  const { caller } = context;
  const isOwn = principalId === caller.principalId && holds(caller.permissions, 'tasks.claim');
  return { permission: isOwn ? 'tasks.claim' : 'claims.manage' };
}

async function requireMayChangePrincipal(
  context: Context,
  action: string,
  principalId: string,
): Promise<Basis> {
  const basis = { permission: 'principals.write' } as const;
  requireAny(context, permissionsOf.principal);
  const principal = await getPrincipalRow(context, principalId);
  const isDone = principal.status === (action === 'disable' ? 'disabled' : 'active');
  if (!isDone) await (action === 'disable' ? requireMayDisable : requireMayEnable)(context, principal);
  return basis;
}

type Reason = ActionCheckResult['reason'];

/** @param required the permissions listed in the refusal; usually all of them */
function requireAny({ caller }: Context, oneOf: readonly Permission[], required = oneOf): void {
  if (!oneOf.some((name) => holds(caller.permissions, name))) fail('permission_denied', { required });
}
