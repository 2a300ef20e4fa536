import { z } from 'zod';
import { FreeObject, Timestamp, Uuid } from '@baton/values/wire';
import { Goal, type Goal as GoalRecord } from '../../work/goals/goal.ts';
import { Task, type Task as TaskRecord } from '../../work/tasks/task.ts';
import { triggerKinds } from './trigger.ts';

/** The roots that conditions and templates of rules read (docs/reference/rules.md#templates-and-roots). */

/** `trigger`: the cause of the evaluation. */
export const RuleTriggerRoot = z.strictObject({
  kind: z.enum(triggerKinds),
  ref: z.string(),
  type: z.string(),
  source: z.string().nullable(),
  eventId: Uuid.nullable(),
  entityType: z.string().nullable(),
  entityId: Uuid.nullable(),
  workspaceId: Uuid.nullable(),
  actorId: Uuid.nullable(),
  occurredAt: Timestamp,
});
export type RuleTriggerRoot = z.infer<typeof RuleTriggerRoot>;

/** `task`: the task that the cause concerns, in its current state. */
export const RuleTask = Task.pick({
  id: true,
  publicId: true,
  typeKey: true,
  typeVersion: true,
  title: true,
  status: true,
  systemStatusCategory: true,
  priority: true,
  workspaceId: true,
  assigneeId: true,
  goalId: true,
}).extend({
  customFields: FreeObject,
  verification: z.strictObject({ status: z.string(), attempt: z.int() }).nullable(),
});
export type RuleTask = z.infer<typeof RuleTask>;

/** `goal`: the goal of the rule. */
export const RuleGoal = Goal.pick({
  id: true,
  title: true,
  desiredState: true,
  status: true,
  ownerId: true,
  workspaceId: true,
});

export function ruleTaskOf({ verification, ...task }: TaskRecord): RuleTask {
  const names = Object.keys(RuleTask.shape).filter((name) => name !== 'verification');
  const picked = Object.fromEntries(names.map((name) => [name, task[name as keyof typeof task]]));
  const judged = verification && { status: verification.status, attempt: verification.attempt };
  return { ...picked, verification: judged } as RuleTask;
}

export function ruleGoalOf(goal: GoalRecord): z.infer<typeof RuleGoal> {
  const { id, title, desiredState, status, ownerId, workspaceId } = goal;
  return { id, title, desiredState, status, ownerId, workspaceId };
}
