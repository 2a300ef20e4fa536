import { canonicalJson } from '@baton/values/canonical-json';
import { requireStanding } from '../../leases/children/child-grant.ts';
import { emit } from '../../ledger/journal/journal.ts';
import { lockVersions } from '../../organisation/version-lock.ts';
import { requireMayActAs } from '../../registry/agent-identity/acting-agents.ts';
import { requireVersionOf } from '../../service/changes.ts';
import { refuseSecretText } from '../../service/documents.ts';
import { requireSight } from '../../service/sight/sight.ts';
import type { Context } from '../context.ts';
import { parseRuleDocuments } from '../documents/rule-documents.ts';
import { warningsOf } from '../documents/warnings.ts';
import { fail } from '../errors.ts';
import { type Rule, type RuleChange, type RuleRow, ruleOf, type WrittenRule } from './rule.ts';
import { requireReferences } from './rule-references.ts';
import { ruleArchived, ruleDisabled, ruleEnabled, ruleSummaryOf, ruleUpdated } from './rules.events.ts';
import {
  findRuleOfKey,
  lockRule,
  type RuleValues,
  updateRuleKey,
  updateRuleToEnabled,
  updateRuleToStopped,
  updateRuleValues,
  updateWaitingToDue,
} from './rules.sql.ts';
import { aboutRule, authorityOf, makeRoomForEnabled, scheduleSeconds, storeVersion } from './rules.ts';

/**
 * Changes a rule: writes the next version, on behalf of the writer if the rule is enabled
 * (docs/reference/rules.md#operations). A request that changes no value writes no version.
 * @throws Refusal `not_found`, those of `requireStanding`, `rule_archived`, `version_conflict`, `empty_update`, those
 * of the documents
 */
export async function updateRule(
  context: Context,
  id: string,
  ifMatch: number,
  change: RuleChange,
): Promise<WrittenRule> {
  const { db, tenantId } = context;
  const before = await lockRuleRow(context, id);
  const narrowedBy = await requireStanding(context, 'rules.write');
  refuseArchived(before);
  requireVersionOf('rule', before, ifMatch);
  if (Object.keys(change).length === 0) fail('empty_update');
  if (change.description != null) refuseSecretText(change.description, 'description');
  const documents = parseRuleDocuments({
    trigger: change.trigger === undefined ? before.trigger : change.trigger,
    condition: change.condition === undefined ? before.condition : change.condition,
    interpretation: change.interpretation === undefined ? before.interpretation : change.interpretation,
    action: change.action === undefined ? before.action : change.action,
  });
  const goalId = change.goalId === undefined ? before.goal_id : change.goalId;
  const named = goalId === before.goal_id ? null : goalId;
  // An unchanged identity is also checked, because the writer now controls the actions of that agent.
  const identity = change.identity === undefined ? ruleOf(before).identity : change.identity;
  const place = { workspaceId: before.workspace_id, goalId: named, identity };
  const lookUp = { entersWorkspace: false, narrowedBy };
  const identityAgent = await requireReferences(context, place, documents, lookUp);
  const warnings = warningsOf(documents, context.eventCatalog);
  const description = change.description ?? before.description;
  const after: RuleValues = { description, goal_id: goalId, identity_agent: identityAgent, ...documents };
  const changes = changedNames(before, after);
  if (changes.length === 0) return { ...ruleOf(before), warnings };
  const isEnabled = before.status === 'enabled';
  const authority = isEnabled ? await authorityOf(context, documents, narrowedBy) : before.authority;
  const enabling = { authority, isEnabled, everySeconds: scheduleSeconds(documents) };
  const row = (await db.row(updateRuleValues(tenantId, id, after, enabling))) as RuleRow;
  await db.run(updateWaitingToDue(tenantId, id));
  const rule = await storeVersion(context, row);
  emit(context, ruleUpdated, aboutRule(row), { ...ruleSummaryOf(rule), changes });
  return { ...rule, warnings };
}

function changedNames(before: RuleRow, after: RuleValues): string[] {
  return changeable
    .filter(([, column]) => canonicalJson(before[column]) !== canonicalJson(after[column]))
    .map(([name]) => name);
}

const changeable = [
  ['description', 'description'],
  ['trigger', 'trigger'],
  ['condition', 'condition'],
  ['interpretation', 'interpretation'],
  ['action', 'action'],
  ['goalId', 'goal_id'],
  ['identity', 'identity_agent'],
] as const;

/**
 * Gives a rule another key in its next version, which continues the rule's history.
 * @throws Refusal `not_found`, those of `requireStanding`, `rule_archived`, `rule_key_taken`
 */
export async function renameRule(context: Context, id: string, key: string): Promise<Rule> {
  const { db, tenantId } = context;
  const before = await lockRuleRow(context, id);
  await requireStanding(context, 'rules.write');
  refuseArchived(before);
  await lockVersions(context, 'rules', key);
  const holder = await db.row(findRuleOfKey(tenantId, key));
  if (holder !== undefined) fail('rule_key_taken', { key, ruleId: holder.id });
  const row = (await db.row(updateRuleKey(tenantId, id, key))) as RuleRow;
  const rule = await storeVersion(context, row);
  emit(context, ruleUpdated, aboutRule(row), { ...ruleSummaryOf(rule), changes: ['key'] });
  return rule;
}

/**
 * Enables a rule for future events, with the caller's current permissions or as the rule's agent.
 * @throws Refusal `not_found`, those of `requireStanding`, `rule_archived`, `unknown_agent`, `permission_escalation`,
 * `invalid_rule`
 */
export async function enableRule(context: Context, id: string): Promise<Rule> {
  const { db, tenantId } = context;
  const before = await lockRuleRow(context, id);
  const narrowedBy = await requireStanding(context, 'rules.write');
  refuseArchived(before);
  if (before.status === 'enabled') return ruleOf(before);
  await requireMayActAsIdentity(context, before, narrowedBy);
  await makeRoomForEnabled(context);
  const authority = await authorityOf(context, before, narrowedBy);
  const everySeconds = scheduleSeconds(before);
  const row = (await db.row(updateRuleToEnabled(tenantId, id, authority, everySeconds))) as RuleRow;
  const rule = ruleOf(row);
  emit(context, ruleEnabled, aboutRule(row), ruleSummaryOf(rule));
  return rule;
}

/**
 * Refuses callers who lack the permissions to enable a rule. The rule's state doesn't matter, except that an enabled
 * rule requires no further permissions.
 * @throws Refusal those of `requireStanding`, `unknown_agent`, `permission_escalation`
 */
export async function requireMayEnableRule(context: Context, rule: RuleRow): Promise<void> {
  const narrowedBy = await requireStanding(context, 'rules.write');
  if (rule.status !== 'enabled') await requireMayActAsIdentity(context, rule, narrowedBy);
}

async function requireMayActAsIdentity(
  context: Context,
  { identity_agent: agentKey }: RuleRow,
  narrowedBy: readonly ReadonlySet<string>[],
): Promise<void> {
  if (agentKey === null) return;
  await requireMayActAs(context, agentKey, [context.caller.permissions, ...narrowedBy]);
}

/** Disables a rule; its pending evaluations end as skipped. @throws Refusal `not_found`, `rule_archived` */
export async function disableRule(context: Context, id: string): Promise<Rule> {
  const before = await lockRuleRow(context, id);
  refuseArchived(before);
  if (before.status === 'disabled') return ruleOf(before);
  const rule = ruleOf(await stop(context, before, 'disabled'));
  emit(context, ruleDisabled, aboutRule(before), ruleSummaryOf(rule));
  return rule;
}

/** Archives a rule and frees its key. @throws Refusal `not_found` */
export async function archiveRule(context: Context, id: string): Promise<undefined> {
  const before = await lockRuleRow(context, id);
  if (before.status === 'archived') return;
  const rule = ruleOf(await stop(context, before, 'archived'));
  emit(context, ruleArchived, aboutRule(before), ruleSummaryOf(rule));
}

async function stop(
  { db, tenantId }: Context,
  { id }: RuleRow,
  status: 'disabled' | 'archived',
): Promise<RuleRow> {
  const row = (await db.row(updateRuleToStopped(tenantId, id, status))) as RuleRow;
  await db.run(updateWaitingToDue(tenantId, id));
  return row;
}

/** Locks a rule once its running evaluations have ended. @throws Refusal `not_found` */
async function lockRuleRow(context: Context, id: string): Promise<RuleRow> {
  const row = (await context.db.row(lockRule(context.tenantId, id))) ?? fail('not_found', { ruleId: id });
  await requireSight(context, row.workspace_id, { ruleId: id });
  return row;
}

function refuseArchived({ id, status }: RuleRow): void {
  if (status === 'archived') fail('rule_archived', { ruleId: id });
}
