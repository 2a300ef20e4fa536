import { Refusal } from '@baton/kernel/http/refusal';
import type { Effect, Input, ProcessEvent, RenamedTask } from '@baton/process-engine/engine/inputs';
import type { Json, JsonObject } from '@baton/values/wire';
import { getCorePrincipalId } from '../../access/principals/principals.ts';
import { findStatus, movesFrom } from '../../definitions/task-types/lifecycle.ts';
import { rulesOf } from '../../definitions/task-types/type-rules.ts';
import { cancelCalls } from '../../leases/invocations/cancel-invocations.ts';
import { withdrawApproval } from '../../results/approvals/decisions.ts';
import { requestInvocation } from '../../results/invocations/request-invocation.ts';
import { requirePermission } from '../../rules/acts/work-item.ts';
import { writeApprovalRequest } from '../../work/gates/gates.ts';
import { terminalCategories } from '../../work/readiness/claimability.ts';
import {
  deleteExternalReference,
  listExternalReferences,
  putExternalReference,
} from '../../work/relations/external-references/external-references.ts';
import { addressTask } from '../../work/tasks/addressees/addressees.ts';
import { getStepName } from '../../work/tasks/step-forms/step-forms.ts';
import { processStepName } from '../../work/tasks/step-forms/step-name.ts';
import { NewTask, TaskChange } from '../../work/tasks/task.ts';
import { updateTask } from '../../work/tasks/task-changes.ts';
import { createTask, lockTaskRow } from '../../work/tasks/tasks.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { closeInstance, openInstance } from './child-instances.ts';
import type { InstanceRow } from './instance.ts';
import { linkTask } from './loops/links.ts';
import { closeRecall, openObservation, openRecall, reportCase } from './memory-effects.ts';
import { addresseeOfNobody, findPeople, firstThatResolves } from './people/assignees.ts';
import { findReminded } from './people/responsible.ts';

/** Carries out the effects of steps, on behalf of the identity agent (docs/reference/processes.md#engine). */
export interface Done {
  /** An additional input to the instance that results from the effect. */
  readonly input?: Input;
  readonly tell?: ProcessEvent;
}

/**
 * Carries out one effect.
 * @param links the length of the chain of process triggers that led to it
 * @throws Refusal
 */
export async function carryOutEffect(
  context: Context,
  row: InstanceRow,
  effect: Effect,
  at: string,
  links = 0,
): Promise<Done | undefined> {
  switch (effect.kind) {
    case 'open_task':
      return openTask(context, row, effect, links);
    case 'rename_tasks':
      return renameTasks(context, row, effect.tasks);
    case 'close_task':
      return closeTask(context, effect.taskId);
    case 'find_voters': {
      const { element } = effect;
      const { ids } = await findPeople(context, row.workspace_id, effect.approvers);
      return { input: { kind: 'voters', at, element, principals: ids.slice(0, votersMax) } };
    }
    case 'ask_approval':
      return askApproval(context, row, effect);
    case 'close_approval':
      await withdrawApproval(context, effect.approvalId);
      return undefined;
    case 'open_call':
      return openCall(context, row, effect);
    case 'open_recall':
      return openRecall(context, row, effect);
    case 'close_recall':
      return closeRecall(context, effect.recallId);
    case 'open_observation':
      return openObservation(context, row, effect, at);
    case 'tell_case':
      return reportCase(context, row, effect, at);
    case 'open_instance':
      return openInstance(context, row, effect, links);
    case 'close_instance':
      return closeInstance(context, effect.childId);
    case 'close_call':
      return closeCall(context, effect.callId);
    case 'escalate':
      return escalate(context, row, effect);
  }
}

/** The maximum number of people that one step requests votes from. */
const votersMax = 50;

type Of<Kind extends Effect['kind']> = Extract<Effect, { kind: Kind }>;

async function openTask(
  context: Context,
  row: InstanceRow,
  effect: Of<'open_task'>,
  links: number,
): Promise<undefined> {
  requirePermission(context, 'tasks.write');
  const { element, taskId, typeKey, title, form, context: given, dueAt } = effect;
  const who = await firstThatResolves(context, row.workspace_id, effect.assign);
  if (effect.isForSomebody === true && who === undefined) fail('unknown_agent', { assign: effect.assign });
  const ref = element === null ? `process/${row.id}` : `process/${row.id}/${element}`;
  const request = NewTask.parse({
    title: title.trim() === '' ? (element ?? effect.typeKey) : title,
    typeKey,
    workspaceId: row.workspace_id,
    dueDate: dueAt,
    origin: { kind: 'process', ref, evidence: [] },
    ...(who?.principalId !== undefined && { assigneeId: who.principalId }),
    ...(who?.role !== undefined && { requirements: { roles: [who.role] } }),
  });
  await createTask(context, request, taskId, await getCorePrincipalId(context));
  if (element !== null && effect.assign.length > 0)
    await addressTask(context, taskId, who?.addressee ?? addresseeOfNobody(effect.assign));
  await linkTask(context, taskId, links);
  await nameTask(context, taskId, ref, { ...(form !== null && { form }), context: given });
}

/** The task's external name is that of its step; if a step is repeated, the newest task has that name. */
async function nameTask(
  context: Context,
  taskId: string,
  externalId: string,
  metadata: JsonObject,
): Promise<void> {
  const name = { ...processStepName, externalId };
  const asProcess = { asProcess: true };
  const { items } = await listExternalReferences(context, name, { limit: 1, cursor: undefined });
  for (const { id } of items) await deleteExternalReference(context, id, asProcess);
  await putExternalReference(context, { entityType: 'task', entityId: taskId, ...name, metadata }, asProcess);
}

/** All names are removed first, because two steps may swap names. Data that the steps passed to their tasks remains. */
async function renameTasks(
  context: Context,
  row: InstanceRow,
  tasks: readonly RenamedTask[],
): Promise<undefined> {
  const contexts = new Map<string, Json>();
  for (const { taskId } of tasks) {
    const name = await getStepName(context, taskId);
    if (name === undefined) continue;
    contexts.set(taskId, name.metadata['context'] ?? {});
    await deleteExternalReference(context, name.id, { asProcess: true });
  }
  for (const { taskId, step, form } of tasks) {
    const metadata = { ...(form !== null && { form }), context: contexts.get(taskId) ?? {} };
    await nameTask(context, taskId, `process/${row.id}/${step}`, metadata);
  }
}

/** Cancels the task of a step that has ended. A closed task stays as it is. */
async function closeTask(context: Context, id: string): Promise<undefined> {
  const ref = { id, number: null };
  const task = await lockTaskRow(context, ref);
  if (terminalCategories.includes(task.category)) return;
  requirePermission(context, 'tasks.write');
  const { lifecycle } = await rulesOf(context, task.type_id);
  const status =
    movesFrom(lifecycle, task.status).find(
      (key) => findStatus(lifecycle, key)?.category === 'terminal_cancelled',
    ) ?? fail('invalid_transition', { taskId: id });
  await updateTask(context, ref, task.version, TaskChange.parse({ status }), { asProcess: true });
}

async function askApproval(
  context: Context,
  row: InstanceRow,
  effect: Of<'ask_approval'>,
): Promise<undefined> {
  requirePermission(context, 'approvals.manage');
  const { approvalId, principalId, comment, excluded } = effect;
  await writeApprovalRequest(context, {
    id: approvalId,
    task: null,
    artifactId: null,
    workspaceId: row.workspace_id,
    requiredRoleId: null,
    assignedPrincipalId: principalId,
    excludedPrincipals: excluded,
    comment,
    gate: false,
    isDeclared: true,
  });
}

async function openCall(context: Context, row: InstanceRow, effect: Of<'open_call'>): Promise<undefined> {
  requirePermission(context, 'skills.invoke');
  const { callId, skill, inputs, element } = effect;
  const made = await requestInvocation(context, {
    id: callId,
    requestedBy: { kind: 'process', ref: row.id },
    skill,
    inputs,
    idempotencyKey: callId,
    workspaceId: row.workspace_id,
    basis: { kind: 'process_step', instanceId: row.id, element },
  });
  if (made.id !== callId) throw new Refusal('idempotency_key_reuse', { callId });
}

async function closeCall(context: Context, callId: string): Promise<undefined> {
  await cancelCalls(context, [callId], {
    code: 'cancelled',
    reason: 'the step has ended',
    initiator: 'system',
  });
}

/** Notifies the recipients of an escalation; if the task is reassigned, it goes to the first recipient found. */
async function escalate(context: Context, row: InstanceRow, effect: Of<'escalate'>): Promise<Done> {
  const { element, level, action, taskId, to, otherwise } = effect;
  const { ids, unresolved } =
    otherwise === undefined
      ? await findPeople(context, row.workspace_id, to)
      : await findReminded(context, row.workspace_id, taskId, otherwise);
  const [first = null] = ids;
  if (action === 'reassign' && taskId !== null && first !== null) {
    requirePermission(context, 'tasks.write');
    const ref = { id: taskId, number: null };
    const task = await lockTaskRow(context, ref);
    await updateTask(context, ref, task.version, TaskChange.parse({ assigneeId: first }), {
      asProcess: true,
    });
    await addressTask(context, taskId, { principalId: first });
  }
  const payload = { element, level, action, taskId, to: first, addressees: ids, unresolved };
  return { tell: { type: 'process.escalated', payload } };
}
