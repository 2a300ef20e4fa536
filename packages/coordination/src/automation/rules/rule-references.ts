import { Refusal } from '@baton/kernel/refusal';
import { requireSubjectsOfChecks } from '../../definitions/acceptance/acceptance.ts';
import { resolveTaskType } from '../../definitions/task-types/type-rules.ts';
import { findSkillByRef, obstacleToCall } from '../../organisation/skills/skills.ts';
import { enterWorkspace } from '../../organisation/workspaces/workspaces.ts';
import { requireGoalForTask } from '../../work/goals/goals.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { findRoleId } from '../role-names.ts';
import { type RuleDocuments, requireNoIdentity } from '../rule-documents/rule-documents.ts';
import { isTemplate } from '../rule-documents/template.ts';
import { requireKnownAgent } from '../rule-documents/trigger.ts';
import type { RuleRequest } from './rule.ts';

/** Where a rule belongs, and what it names. */
export type RulePlace = Pick<RuleRequest, 'identity'> & {
  readonly workspaceId: string | null;
  readonly goalId: string | null;
};

/**
 * Looks up what a rule names, in the contract's order (organisation, section 8.2).
 * @param options.entersWorkspace whether the rule is filed in its workspace now
 * @throws Refusal `not_found`, `workspace_archived`, `goal_abandoned`, `unknown_agent`, `unknown_task_type`,
 * `unknown_role`, `unknown_skill`, `rule_skill_side_effects`, `invalid_acceptance_spec`
 */
export async function requireReferences(
  context: Context,
  { workspaceId, goalId, identity }: RulePlace,
  { trigger, interpretation, action }: RuleDocuments,
  options: { entersWorkspace: boolean },
): Promise<void> {
  if (workspaceId !== null && options.entersWorkspace) await enterWorkspace(context, workspaceId);
  if (goalId !== null) await requireGoalForTask(context, goalId, workspaceId);
  requireKnownAgent(trigger);
  const { taskType, taskTypes = [], fields = {}, acceptance } = action;
  const named =
    taskType !== undefined && !isTemplate(taskType)
      ? [{ field: 'action.taskType', key: taskType }]
      : taskTypes.map((key, index) => ({ field: `action.taskTypes[${index}]`, key }));
  for (const { field, key } of named) await requireTaskType(context, field, key);
  await requireRoles(context, workspaceId, fields);
  if (interpretation !== null) await requireSkill(context, interpretation.skill);
  if (acceptance !== undefined)
    await requireSubjectsOfChecks(context, acceptance as never, 'action.acceptance');
  requireNoIdentity(identity);
}

async function requireTaskType(context: Context, field: string, taskType: string): Promise<void> {
  try {
    await resolveTaskType(context, { typeKey: taskType });
  } catch (error) {
    if (!(error instanceof Refusal) || error.code !== 'not_found') throw error;
    fail('unknown_task_type', { field, taskType });
  }
}

/** Roles and agents that are named literally; what a template yields is looked up when the rule acts. */
async function requireRoles(
  context: Context,
  workspaceId: string | null,
  { assignee, approverRole }: NonNullable<RuleDocuments['action']['fields']>,
): Promise<void> {
  if (assignee?.startsWith('agent:') && !isTemplate(assignee))
    fail('unknown_agent', { field: 'action.fields.assignee', agentKey: assignee.slice('agent:'.length) });
  if (assignee?.startsWith('role:') && !isTemplate(assignee))
    await requireRole(context, workspaceId, 'action.fields.assignee', assignee.slice('role:'.length));
  if (approverRole !== undefined && !isTemplate(approverRole))
    await requireRole(context, workspaceId, 'action.fields.approverRole', approverRole);
}

async function requireRole(
  context: Context,
  workspaceId: string | null,
  field: string,
  role: string,
): Promise<void> {
  if ((await findRoleId(context, role, workspaceId)) === undefined) fail('unknown_role', { field, role });
}

/** A skill that only says something: rules ask it as often as they look. */
async function requireSkill(context: Context, ref: string): Promise<void> {
  const field = 'interpretation.skill';
  const skill = (await findSkillByRef(context, ref)) ?? fail('unknown_skill', { field, skill: ref });
  const reason = obstacleToCall(skill);
  if (reason !== undefined) fail('unknown_skill', { field, skill: ref, reason });
  if (skill.side_effects === 'external_write') fail('rule_skill_side_effects', { field, skill: ref });
}
