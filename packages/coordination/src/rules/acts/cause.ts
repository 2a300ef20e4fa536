import type { Json, JsonObject } from '@baton/values/wire';
import { findAgentsOfPrincipals } from '../../access/principals/managed-principals.ts';
import type { Evidence } from '../../definitions/acceptance/evidence.ts';
import type { EventRow } from '../../ledger/journal/event.ts';
import { permittedIds } from '../../service/permissions.ts';
import { isTaskInSight } from '../../service/sight/sight.ts';
import { getGoal } from '../../work/goals/goals.ts';
import { findTaskUnseen } from '../../work/tasks/tasks.ts';
import type { RuleRow } from '../catalog/rule.ts';
import type { Context } from '../context.ts';
import { type RuleTriggerRoot, ruleGoalOf, ruleTaskOf } from '../documents/roots.ts';
import { readsRoot } from '../documents/warnings.ts';

/** The trigger of an evaluation: an event of the journal, or a due time of the rule's schedule. */
export interface Cause {
  readonly trigger: RuleTriggerRoot;
  readonly payload: JsonObject;
  /** The task that the cause is about. */
  readonly taskId: string | null;
  /** The workspace and goal that new tasks inherit. */
  readonly workspaceId: string | null;
}

export function causeOfEvent(event: EventRow): Cause {
  const payload = event.payload as JsonObject;
  const isObservation = event.type === 'observation.recorded';
  const asText = (value: Json | undefined) => (typeof value === 'string' ? value : null);
  return {
    trigger: {
      kind: isObservation ? 'observation' : 'event',
      ref: `event:${event.id}`,
      type: isObservation ? (asText(payload['kind']) ?? event.type) : event.type,
      source: isObservation ? asText(payload['source']) : null,
      eventId: event.id,
      entityType: event.entity_type,
      entityId: event.entity_id,
      workspaceId: event.workspace_id,
      actorId: event.actor_id,
      occurredAt: event.occurred_at,
    },
    payload,
    taskId: event.entity_type === 'task' ? event.entity_id : uuidOf(payload['taskId']),
    workspaceId: event.workspace_id,
  };
}

/** @param slotSeconds the due time of the schedule, in seconds since 1970 */
export function causeOfSchedule({ trigger, workspace_id: workspaceId }: RuleRow, slotSeconds: number): Cause {
  return {
    trigger: {
      kind: 'schedule',
      ref: `schedule:${slotSeconds}`,
      type: trigger.type,
      source: null,
      eventId: null,
      entityType: null,
      entityId: null,
      workspaceId,
      actorId: null,
      occurredAt: new Date(slotSeconds * 1000).toISOString(),
    },
    payload: {},
    taskId: null,
    workspaceId,
  };
}

function uuidOf(value: Json | undefined): string | null {
  return typeof value === 'string' && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(value)
    ? value
    : null;
}

/** The cause, as evidence for the resulting tasks. */
export function evidenceOf({ trigger }: Cause): Evidence[] {
  const { eventId, entityId, entityType, ref } = trigger;
  if (trigger.kind === 'observation' && entityId !== null)
    return [{ kind: 'observation', observationId: entityId }];
  if (eventId !== null && entityType === 'artifact' && entityId !== null)
    return [{ kind: 'artifact', artifactId: entityId }];
  return [{ kind: 'external', externalRef: { system: 'baton', id: ref } }];
}

/** The keys of agents, by the ids of their principals. */
export type AgentsOfPrincipals = ReadonlyMap<string, string>;

/** The agents among the authors of these events. Skips the lookup if no rule filters by agent. */
export async function findAuthors(
  context: Context,
  rules: readonly Pick<RuleRow, 'trigger'>[],
  events: readonly EventRow[],
): Promise<AgentsOfPrincipals> {
  const asks = rules.some(({ trigger }) => trigger.kind === 'observation' && trigger.agent !== undefined);
  if (!asks) return new Map();
  const observed = events.filter(({ type }) => type === 'observation.recorded');
  return findAgentsOfPrincipals(context, [...new Set(observed.flatMap(({ actor_id: id }) => id ?? []))]);
}

/** Whether the cause passes the rule's filters on source and author. */
export function isCausedBy(
  { trigger: wanted }: Pick<RuleRow, 'trigger'>,
  { trigger }: Cause,
  authors: AgentsOfPrincipals,
): boolean {
  if (wanted.kind !== trigger.kind || wanted.type !== trigger.type) return false;
  if (wanted.kind !== 'observation') return true;
  if (wanted.source !== undefined && wanted.source !== trigger.source) return false;
  const { actorId } = trigger;
  if (wanted.agent !== undefined && (actorId === null || wanted.agent !== authors.get(actorId))) return false;
  return wanted.actorId === undefined || wanted.actorId === actorId;
}

/** The roots that the condition and the templates can read. */
export type RuleRoots = { [root: string]: Json };

/**
 * Loads the roots that the documents of a rule read, with the authority's visibility: a task or goal that the authority
 * may not see, or that external authorization denies, is null.
 * @param acting the context of the authority
 */
export async function rootsOf(acting: Context, rule: RuleRow, cause: Cause): Promise<RuleRoots> {
  const [task, goal] = [
    readsRoot(rule, 'task') ? await taskOfCause(acting, cause) : null,
    readsRoot(rule, 'goal') && rule.goal_id !== null ? ruleGoalOf(await getGoal(acting, rule.goal_id)) : null,
  ];
  return { trigger: cause.trigger, payload: cause.payload, task: task as Json, goal };
}

async function taskOfCause(acting: Context, { taskId }: Cause) {
  if (taskId === null || !(await isTaskInSight(acting, taskId))) return null;
  if (permittedIds(acting.caller.permissions, 'tasks.read', 'task', [taskId]).length === 0) return null;
  const task = await findTaskUnseen(acting, { id: taskId, number: null });
  return task === undefined ? null : ruleTaskOf(task);
}
