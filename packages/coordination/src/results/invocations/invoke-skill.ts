import { Refusal } from '@baton/kernel/http/refusal';
import { canonicalJson } from '@baton/values/canonical-json';
import { type LiveRunRow, requireLiveRun } from '../../execution/runs/live-run.ts';
import { getRun } from '../../execution/runs/runs.ts';
import { launchedRunOf, requireRunGrant } from '../../leases/children/child-grant.ts';
import type { AuthorizationBasis, InvocationRow } from '../../leases/invocations/invocation-row.ts';
import { governanceAt } from '../../organisation/projects/config/layers.ts';
import { findSkillByRef } from '../../organisation/skills/skills.ts';
import { holds } from '../../service/permissions.ts';
import { getTask } from '../../work/tasks/tasks.ts';
import { getApprovalRow } from '../approvals/approvals.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import {
  type CallableSkill,
  checkInputs,
  requireCallable,
  requireContractRights,
  writeCall,
} from './call-rules.ts';
import { type InvocationRequest, invocationOf, type SkillInvocation } from './invocation.ts';
import {
  findApprovalBasis,
  findExecutionBasis,
  findInvocationOfKey,
  findToolRights,
  type NamedInvocationRow,
} from './invocations.sql.ts';

/**
 * Requests a call of a skill; the checks run in the documented order. See docs/reference/skills.md#invoke.
 * @returns the call, and whether it is new: if the key identifies an existing call, that call is returned
 */
export async function invokeSkill(
  context: Context,
  ref: string,
  request: InvocationRequest,
): Promise<{ isNew: boolean; invocation: SkillInvocation }> {
  const skill = await findSkillByRef(context, ref);
  const earlier = await findRepeated(context, request);
  if (earlier !== undefined && isNamedBy(ref, earlier)) return repeat(earlier, request);
  if (skill === undefined) return fail('not_found', { skill: ref });
  if (earlier !== undefined) return repeat(undefined, request);
  requireCallable(skill);
  const idempotencyKey = request.idempotencyKey ?? null;
  if (skill.contract.idempotency === 'required' && idempotencyKey === null)
    fail('idempotency_key_required', {}, { status: 400 });
  const { inputs } = request;
  checkInputs(skill, inputs);
  const run = request.runId == null ? undefined : await requireOwnRun(context, request.runId);
  await requireCeiling(context, skill, run);
  const place = await placeOf(context, request, run);
  const resource = place.taskId === null ? `tenant:${context.tenantId}` : `task:${place.taskId}`;
  requireContractRights(context, skill, resource);
  if (run !== undefined) await counted(context, () => requireTool(context, run, skill));
  const basis = await basisOf(context, skill, { approvalId: request.approvalId, taskId: place.taskId }, run);
  // If an approval permits the call, the principal is the requester, even in a run.
  const requestedBy =
    run === undefined || basis?.kind === 'approval'
      ? ({ kind: 'principal', ref: context.caller.principalId } as const)
      : ({ kind: 'run', ref: run.id } as const);
  const row = await writeCall(context, { requestedBy, skill, inputs, idempotencyKey, ...place, basis });
  if (row !== undefined) return { isNew: true, invocation: invocationOf(row) };
  return refuseRival(context, request, basis);
}

/** Between the check and the insert, another call has used the key or the basis, or the skill has been disabled. */
async function refuseRival(context: Context, request: InvocationRequest, basis: AuthorizationBasis | null) {
  const earlier = await findRepeated(context, request);
  if (earlier !== undefined) return repeat(earlier, request);
  if (basis?.kind === 'approval') fail('approval_already_used', { approvalId: basis.approvalId });
  if (basis?.kind === 'execution') fail('execution_already_invoked', { runId: basis.runId });
  return fail('skill_not_invocable', { reason: 'disabled' });
}

async function findRepeated(
  { db, caller }: Context,
  { idempotencyKey }: InvocationRequest,
): Promise<NamedInvocationRow | undefined> {
  return idempotencyKey == null
    ? undefined
    : db.row(findInvocationOfKey(caller.principalId, true, idempotencyKey));
}

function isNamedBy(ref: string, { skill_id: id, skill, version }: NamedInvocationRow): boolean {
  return [id, skill, `${skill}@${version}`].includes(ref);
}

/** @throws Refusal `idempotency_key_reuse` if the key identifies a call of another skill or with other inputs */
function repeat(
  earlier: InvocationRow | undefined,
  { inputs, idempotencyKey }: InvocationRequest,
): { isNew: boolean; invocation: SkillInvocation } {
  const isSame = earlier !== undefined && canonicalJson(earlier.inputs) === canonicalJson(inputs);
  if (!isSame) return fail('idempotency_key_reuse', { idempotencyKey });
  return { isNew: false, invocation: invocationOf(earlier) };
}

/** @throws Refusal `not_found`, `run_owner_mismatch`, `run_not_active`, those of `requireLiveRun` */
async function requireOwnRun(context: Context, runId: string): Promise<LiveRunRow> {
  const { principalId, status } = await getRun(context, runId);
  if (principalId !== context.caller.principalId) fail('run_owner_mismatch', { runId });
  if (status !== 'running') fail('run_not_active', { runId, status });
  return requireLiveRun(context, runId);
}

/** @throws Refusal `run_id_required`, `permission_denied`, `child_grant_exceeded` */
async function requireCeiling(
  context: Context,
  { contract }: CallableSkill,
  run: LiveRunRow | undefined,
): Promise<void> {
  if (run === undefined) {
    const runId = await launchedRunOf(context);
    if (runId !== undefined) fail('run_id_required', { runId });
    return;
  }
  for (const permission of ['skills.invoke', ...contract.requiredPermissions] as const)
    await counted(context, () => requireRunGrant(context, run.id, permission));
}

/**
 * The task of the call: the requested one, or that of its run.
 * @throws Refusal `permission_denied`, `not_found`, `invocation_mismatch`
 */
async function placeOf(
  context: Context,
  { taskId }: InvocationRequest,
  run: LiveRunRow | undefined,
): Promise<{ taskId: string | null; runId: string | null; workspaceId: string | null }> {
  const runId = run?.id ?? null;
  if (taskId == null) return { taskId: run?.task_id ?? null, runId, workspaceId: run?.workspace_id ?? null };
  if (!holds(context.caller.permissions, 'tasks.write'))
    fail('permission_denied', { required: ['tasks.write'] });
  const task = await getTask(context, { id: taskId, number: null });
  if (run !== undefined && run.task_id !== task.id) fail('invocation_mismatch', { taskId, runId });
  return { taskId: task.id, runId, workspaceId: task.workspaceId };
}

/**
 * A run uses the skills of its principal, limited to the protocols that the projects above its task allow and, if it
 * was launched, to the grants of its handle.
 */
async function requireTool(context: Context, run: LiveRunRow, skill: CallableSkill): Promise<void> {
  const rights = await context.db.row(findToolRights(context.tenantId, run.id, skill.id));
  const name = `${skill.name}@${skill.version}`;
  if (rights?.is_granted !== true) fail('child_grant_exceeded', { required: [name] });
  if (!rights.is_assigned) fail('tool_not_authorized', { skill: name });
  if (run.workspace_id === null) return;
  const { allowedSkillProtocols: allowed } = await governanceAt(context, run.workspace_id);
  if (Array.isArray(allowed) && !allowed.includes(skill.protocol))
    fail('tool_not_authorized', { skill: name, reason: 'protocol_not_allowed_by_governance' });
}

const toolRefusals: readonly string[] = ['tool_not_authorized', 'child_grant_exceeded'];

/** Counts how often a tool was refused. */
async function counted(context: Context, require: () => Promise<void>): Promise<void> {
  try {
    await require();
  } catch (error) {
    if (error instanceof Refusal && toolRefusals.includes(error.code))
      context.counters.toolInvocationsDenied.inc();
    throw error;
  }
}

/**
 * The basis of a skill with external effects: an approval, or a type of the run's task that pins this version. Other
 * skills need none.
 * @throws Refusal `skill_side_effect_not_authorized`, `task_terminal`, `approval_already_used`, `approval_required`,
 * `execution_already_invoked`
 */
async function basisOf(
  context: Context,
  skill: CallableSkill,
  { approvalId, taskId }: { approvalId: string | null | undefined; taskId: string | null },
  run: LiveRunRow | undefined,
): Promise<AuthorizationBasis | null> {
  if (skill.side_effects !== 'external_write') {
    // Even an approval that isn't needed must exist.
    if (approvalId != null) await getApprovalRow(context, approvalId);
    return null;
  }
  if (approvalId != null) return approvalBasis(context, skill, approvalId, taskId);
  const { db, tenantId } = context;
  const pinned = { skill: skill.name, version: skill.version };
  const execution = run && (await db.row(findExecutionBasis(tenantId, run.id, pinned)));
  if (run === undefined || execution?.is_pinned !== true) return fail('skill_side_effect_not_authorized');
  if (execution.pending > 0)
    fail('approval_required', { taskId: run.task_id, pendingApprovals: execution.pending_approvals });
  if (execution.is_used) fail('execution_already_invoked', { runId: run.id });
  return { kind: 'execution', runId: run.id };
}

async function approvalBasis(
  { db, tenantId }: Context,
  skill: CallableSkill,
  approvalId: string,
  taskId: string | null,
): Promise<AuthorizationBasis> {
  const approval = await db.row(findApprovalBasis(tenantId, approvalId, skill.id));
  const isOfTask = approval?.is_approved === true && approval.task_id !== null && approval.task_id === taskId;
  if (!isOfTask) return fail('skill_side_effect_not_authorized', { approvalId });
  if (approval.is_terminal) fail('task_terminal', { taskId });
  if (approval.is_used) fail('approval_already_used', { approvalId });
  return { kind: 'approval', approvalId };
}
