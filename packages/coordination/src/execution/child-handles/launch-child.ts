import { type Reply, reply } from '@baton/kernel/http/service';
import { newId } from '@baton/values/ids';
import { lockGrantingHandle } from '../../leases/children/child-grant.ts';
import { requireDelegated } from '../../leases/delegated/delegated-rights.ts';
import { emit } from '../../ledger/journal/journal.ts';
import { createTaskRelation } from '../../work/relations/task-relations.ts';
import type { Task } from '../../work/tasks/task.ts';
import { createTask, getTask } from '../../work/tasks/tasks.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { type LiveRunRow, requireLiveRun } from '../runs/live-run.ts';
import { getRun } from '../runs/runs.ts';
import { cancellationPolicies, childHandleOf, type LaunchedChild, type NewChild } from './child-handle.ts';
import { childLaunched } from './child-handles.events.ts';
import { findHandle, findHandleByCorrelation, insertHandle } from './child-handles.sql.ts';
import { checkGrant, findGrantCeiling, narrowGrant } from './grants.ts';
import { newHandleToken } from './handle-token.ts';

const correlationIdForm = /^[A-Za-z0-9._:-]{1,128}$/;
const expirySecondsMax = 7_776_000;
const depthMax = 8;

/**
 * Launches a child of a run, in one transaction: a task, and the handle by which the run tracks it
 * (docs/reference/actions-and-usage.md#launch). A correlation id that the run has already used returns the existing
 * child, regardless of the state of the run.
 * @throws Refusal `invalid_correlation_id`, `invalid_cancellation_policy`, `invalid_child_expiry`,
 * `invalid_child_grant`, those of `requireLiveRun`, `permission_denied`, `child_handle_revoked`,
 * `child_handle_expired`, `child_grant_exceeded`, `child_grant_exceeds_parent`, `child_depth_exceeded`, those of a new
 * task, `invalid_relation`
 */
export async function launchChild(
  context: Context,
  runId: string,
  request: NewChild,
): Promise<Reply<LaunchedChild>> {
  const policy = checkRequest(request);
  await getRun(context, runId);
  const known = await launchedBefore(context, runId, request.correlationId);
  if (known !== undefined) return known;
  const run = await requireLiveRun(context, runId);
  // A concurrent launch of the run may have used the id while this one waited for the task's lock.
  const first = await launchedBefore(context, runId, request.correlationId);
  if (first !== undefined) return first;
  await requireDelegated(context, { runId }, 'tasks.write');
  const { grant, depth } = await grantOf(context, run, request);
  const task = await makeTask(context, run, request);
  const id = newId();
  const { token, secretHash } = newHandleToken(id);
  const { correlationId, expiresInSeconds } = request;
  await context.db.run(
    insertHandle({
      id,
      tenantId: context.tenantId,
      parentRunId: runId,
      parentTaskId: run.task_id,
      childTaskId: task.id,
      correlationId,
      secretHash,
      ...grant,
      cancellationPolicy: policy,
      depth,
      expiresInSeconds,
    }),
  );
  emit(
    context,
    childLaunched,
    { entityId: runId, workspaceId: run.workspace_id, sessionId: run.session_id },
    {
      taskId: run.task_id,
      childHandleId: id,
      childTaskId: task.id,
      childTaskPublicId: task.publicId,
      correlationId,
      cancellationPolicy: policy,
      depth,
      grantSizes: {
        permissions: grant.permissions.length,
        capabilities: grant.capabilities.length,
        skills: grant.skills.length,
      },
    },
  );
  return launched(context, 201, id, task, token);
}

function checkRequest({ correlationId, cancellationPolicy, expiresInSeconds, grant }: NewChild) {
  if (!correlationIdForm.test(correlationId)) fail('invalid_correlation_id');
  const policy = cancellationPolicies.find((known) => known === cancellationPolicy);
  if (policy === undefined) return fail('invalid_cancellation_policy', { known: cancellationPolicies });
  if (expiresInSeconds < 1 || expiresInSeconds > expirySecondsMax)
    fail('invalid_child_expiry', { min: 1, max: expirySecondsMax });
  checkGrant(grant);
  return policy;
}

async function launchedBefore(
  context: Context,
  runId: string,
  correlationId: string,
): Promise<Reply<LaunchedChild> | undefined> {
  const found = await context.db.row(findHandleByCorrelation(context.tenantId, runId, correlationId));
  if (found === undefined) return undefined;
  const task = await getTask(context, { id: found.child_task_id, number: null });
  return launched(context, 200, found.id, task, null);
}

async function grantOf(context: Context, run: LiveRunRow, request: NewChild) {
  // Under the handle's lock: a concurrent revocation of the run's own launch waits, or causes this refusal.
  const own =
    run.child_handle_id === null
      ? undefined
      : await lockGrantingHandle(context, run.child_handle_id, 'tasks.write');
  const grant = narrowGrant(await findGrantCeiling(context, run.id, own), request.grant);
  const depth = (own?.depth ?? 0) + 1;
  if (depth > depthMax) fail('child_depth_exceeded', { maxDepth: depthMax });
  return { grant, depth };
}

async function makeTask(context: Context, run: LiveRunRow, request: NewChild): Promise<Task> {
  const { title, description, priority, ownerId, assigneeId } = request;
  const task = await createTask(context, {
    title,
    description,
    priority,
    ownerId,
    assigneeId,
    workspaceId: request.workspaceId ?? run.workspace_id,
    customFields: {},
    origin: { kind: 'parent', ref: `task:${run.task_id}`, evidence: [] },
    acceptance: [],
    evidence: [],
  });
  const parent = { toTask: { id: run.task_id, number: null }, type: 'spawned_by' };
  await createTaskRelation(context, { id: task.id, number: null }, parent);
  return task;
}

async function launched(
  { db, tenantId }: Context,
  status: 200 | 201,
  handleId: string,
  childTask: Task,
  handleToken: string | null,
): Promise<Reply<LaunchedChild>> {
  const row = await db.row(findHandle(tenantId, handleId));
  if (row === undefined) throw new Error('a launched child has no handle');
  const body = { childHandle: childHandleOf(row), childTask, handleToken };
  return reply(status, body, { location: `/api/v1/child-handles/${handleId}` });
}
