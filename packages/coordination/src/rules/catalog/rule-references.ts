import { Refusal } from '@baton/kernel/http/refusal';
import { requireSubjectsOfChecks } from '../../definitions/acceptance/acceptance.ts';
import { resolveTaskType } from '../../definitions/task-types/type-rules.ts';
import { findObstacleToCall, findSkillByRef } from '../../organisation/skills/skills.ts';
import { enterWorkspace } from '../../organisation/workspaces/workspaces.ts';
import { findKnownAgents, requireMayActAs } from '../../registry/agent-identity/acting-agents.ts';
import { requireGoalForTask } from '../../work/goals/goals.ts';
import type { Context } from '../context.ts';
import { parseIdentity, type RuleDocuments } from '../documents/rule-documents.ts';
import { isTemplate } from '../documents/template.ts';
import { fail } from '../errors.ts';
import { findRoleId } from '../role-names.ts';

/** The workspace of a rule, and the identity that it acts as. */
export interface RulePlace {
  readonly workspaceId: string | null;
  readonly goalId: string | null;
  /** As sent by the client. */
  readonly identity: unknown;
}

/** The objects that the same package creates, which therefore need not exist yet. */
export interface GivenWithRule {
  readonly taskTypes: ReadonlySet<string>;
  readonly agents: ReadonlySet<string>;
}

const nothingGiven: GivenWithRule = { taskTypes: new Set(), agents: new Set() };

interface RuleLookUp {
  /** Whether this request places the rule in its workspace. */
  readonly entersWorkspace: boolean;
  /** The sets of permissions that restrict the caller: the result of `requireStanding`. */
  readonly narrowedBy?: readonly ReadonlySet<string>[];
  readonly given?: GivenWithRule;
}

/**
 * Resolves the references of a rule, in the order of docs/reference/rules.md#operations. An agent without an identity
 * is accepted; until one is linked, its actions are refused.
 * @returns the key of the agent that the rule acts as
 * @throws Refusal `not_found`, `workspace_archived`, `goal_abandoned`, `unknown_agent`, `unknown_task_type`,
 * `unknown_role`, `unknown_skill`, `rule_skill_side_effects`, `invalid_acceptance_spec`, `invalid_rule`,
 * `permission_escalation`
 */
export async function requireReferences(
  context: Context,
  { workspaceId, goalId, identity }: RulePlace,
  { trigger, interpretation, action }: RuleDocuments,
  { entersWorkspace, narrowedBy = [], given = nothingGiven }: RuleLookUp,
): Promise<string | null> {
  if (workspaceId !== null && entersWorkspace) await enterWorkspace(context, workspaceId);
  if (goalId !== null) await requireGoalForTask(context, goalId, workspaceId);
  if (trigger.kind === 'observation' && trigger.agent !== undefined)
    await requireAgent(context, 'trigger.agent', trigger.agent, given);
  const { taskType, taskTypes = [], fields = {}, acceptance } = action;
  const named =
    taskType !== undefined && !isTemplate(taskType)
      ? [{ field: 'action.taskType', key: taskType }]
      : taskTypes.map((key, index) => ({ field: `action.taskTypes[${index}]`, key }));
  for (const { field, key } of named)
    if (!given.taskTypes.has(key)) await requireTaskType(context, field, key);
  await requireWhom(context, workspaceId, fields, given);
  if (interpretation !== null) await requireSkill(context, interpretation.skill);
  if (acceptance !== undefined)
    await requireSubjectsOfChecks(context, acceptance as never, 'action.acceptance');
  const agentKey = parseIdentity(identity);
  if (agentKey !== null && !given.agents.has(agentKey))
    await requireMayActAs(context, agentKey, [context.caller.permissions, ...narrowedBy]);
  return agentKey;
}

/** An agent that the caller sees. @throws Refusal `unknown_agent` if it doesn't exist or is retired */
async function requireAgent(
  context: Context,
  field: string,
  agentKey: string,
  given: GivenWithRule,
): Promise<void> {
  if (given.agents.has(agentKey)) return;
  if (!(await findKnownAgents(context, [agentKey])).has(agentKey)) fail('unknown_agent', { field, agentKey });
}

async function requireTaskType(context: Context, field: string, taskType: string): Promise<void> {
  try {
    await resolveTaskType(context, { typeKey: taskType });
  } catch (error) {
    if (!(error instanceof Refusal) || error.code !== 'not_found') throw error;
    fail('unknown_task_type', { field, taskType });
  }
}

/** Literal references to roles and agents; those in templates are resolved when the rule acts. */
async function requireWhom(
  context: Context,
  workspaceId: string | null,
  { assignee, approverRole }: NonNullable<RuleDocuments['action']['fields']>,
  given: GivenWithRule,
): Promise<void> {
  if (assignee?.startsWith('agent:') && !isTemplate(assignee))
    await requireAgent(context, 'action.fields.assignee', assignee.slice('agent:'.length), given);
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

/** Requires the skill to have no side effects, because a rule calls it for every evaluation. */
async function requireSkill(context: Context, ref: string): Promise<void> {
  const field = 'interpretation.skill';
  const skill = (await findSkillByRef(context, ref)) ?? fail('unknown_skill', { field, skill: ref });
  const reason = findObstacleToCall(skill);
  if (reason !== undefined) fail('unknown_skill', { field, skill: ref, reason });
  if (skill.side_effects === 'external_write') fail('rule_skill_side_effects', { field, skill: ref });
}
