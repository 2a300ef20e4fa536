import { randomUUID } from 'node:crypto';
import type { Db } from '@baton/kernel/database/db';
import type { EventDeclaration } from '@baton/kernel/http/service';
import { allowedScopesOf, refuseWiderCeiling } from '../../directory/audiences/audiences.ts';
import { getPrincipal } from '../../directory/principals/principals.ts';
import { audit } from '../../records/audit.ts';
import type { AuditAction } from '../../records/drafts.ts';
import { emit } from '../../records/journal/journal.ts';
import { changeReason, changesOf } from '../../service/changes.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { refuseSharedByStrangers } from '../identity-providers/shared-by-strangers.ts';
import {
  columnsOf,
  type NewWorkloadRule,
  type RuleChoices,
  type RuleRow,
  rulesOfProviderMax,
  type ShownRuleRow,
  type WorkloadRule,
  type WorkloadRuleChange,
  workloadRuleOf,
} from './workload-rule.ts';
import {
  workloadRuleCreated,
  workloadRuleDeleted,
  workloadRuleDisabled,
  workloadRuleEnabled,
  workloadRuleUpdated,
} from './workload-rules.events.ts';
import {
  countRules,
  deleteRule,
  findProviderId,
  findRule,
  findRules,
  insertRule,
  lockProviderOfRules,
  lockRule,
  updateRule,
  updateRuleStatus,
} from './workload-rules.sql.ts';

/** The path parameters that identify a rule. */
interface RulePath {
  readonly tenantId: string;
  readonly key: string;
  readonly ruleKey: string;
}

/**
 * Creates a rule (see docs/reference/workload-identity.md#rules).
 * @throws Refusal `identity_provider_not_found`, `workload_provider_required`, `principal_not_found`,
 * `workload_principal_required`, `unknown_audience`, `invalid_scope_ceiling`, `too_many_workload_rules`,
 * `workload_rule_exists`; InvalidRequest for claims that strangers share
 */
export async function createWorkloadRule(
  context: Context,
  tenantId: string,
  providerKey: string,
  { key, ...request }: NewWorkloadRule,
): Promise<WorkloadRule> {
  const { db } = context;
  const provider =
    (await db.row(lockProviderOfRules(tenantId, providerKey))) ?? fail('identity_provider_not_found');
  if (provider.principal_kind === 'human') fail('workload_provider_required');
  const choices = columnsOf(request) as RuleChoices;
  refuseSharedByStrangers(provider, choices.claims);
  await checkChoices(db, tenantId, choices);
  const { rules = 0 } = (await db.row(countRules(provider.id))) ?? {};
  if (rules >= rulesOfProviderMax) fail('too_many_workload_rules');
  const wanted = {
    id: randomUUID(),
    tenant_id: tenantId,
    identity_provider_id: provider.id,
    key,
    ...choices,
  };
  const row = (await db.row(insertRule(wanted))) ?? fail('workload_rule_exists');
  const rule = { ...row, identity_provider: provider.key };
  record(context, rule, workloadRuleCreated, 'workload_rules.create');
  return workloadRuleOf(rule);
}

/** @throws Refusal `identity_provider_not_found` */
export async function listWorkloadRules(
  db: Db,
  tenantId: string,
  providerKey: string,
): Promise<WorkloadRule[]> {
  if ((await db.row(findProviderId(tenantId, providerKey))) === undefined)
    fail('identity_provider_not_found');
  return (await db.rows(findRules(tenantId, providerKey))).map((row) => workloadRuleOf(row));
}

/** @throws Refusal `workload_rule_not_found` */
export async function getWorkloadRule(db: Db, { tenantId, key, ruleKey }: RulePath): Promise<WorkloadRule> {
  return workloadRuleOf((await db.row(findRule(tenantId, key, ruleKey))) ?? fail('workload_rule_not_found'));
}

/**
 * Changes a rule, from the next exchange on: issued tokens remain valid until they expire.
 * @throws Refusal `workload_rule_not_found`, and the refusals of `createWorkloadRule` for the resulting state
 */
export async function updateWorkloadRule(
  context: Context,
  path: RulePath,
  change: WorkloadRuleChange,
): Promise<WorkloadRule> {
  const { db } = context;
  // Before the rule, as in a change to the provider, which depends on the conditions of its rules.
  const provider =
    (await db.row(lockProviderOfRules(path.tenantId, path.key))) ?? fail('workload_rule_not_found');
  const rule = await requireLockedRule(db, path);
  const changed = changesOf<RuleChoices>(rule, columnsOf(change));
  if (Object.keys(changed).length === 0) return workloadRuleOf(rule);
  const next = { ...rule, ...changed };
  // Conditions that were accepted before this check was introduced remain.
  if ('claims' in changed) refuseSharedByStrangers(provider, next.claims);
  await checkChoices(db, path.tenantId, next);
  await db.run(updateRule(rule.id, next));
  record(context, next, workloadRuleUpdated, 'workload_rules.update', ` ${changeReason(changed)}`);
  return workloadRuleOf(next);
}

/**
 * Disables or enables a rule. Access tokens of a disabled rule are revoked until it is enabled again. Repeating the
 * call changes nothing, but is audited, too.
 * @throws Refusal `workload_rule_not_found`
 */
export async function setWorkloadRuleStatus(
  context: Context,
  path: RulePath,
  status: RuleRow['status'],
): Promise<WorkloadRule> {
  const rule = await requireLockedRule(context.db, path);
  const [event, action] =
    status === 'active'
      ? ([workloadRuleEnabled, 'workload_rules.enable'] as const)
      : ([workloadRuleDisabled, 'workload_rules.disable'] as const);
  const isChanged = rule.status !== status;
  record(context, rule, isChanged ? event : undefined, action);
  if (isChanged) await context.db.run(updateRuleStatus(rule.id, status));
  return workloadRuleOf({ ...rule, status });
}

/** Deletes a rule, and revokes its access tokens. @throws Refusal `workload_rule_not_found` */
export async function deleteWorkloadRule(context: Context, path: RulePath): Promise<undefined> {
  const rule = await requireLockedRule(context.db, path);
  await context.db.run(deleteRule(rule.id));
  record(context, rule, workloadRuleDeleted, 'workload_rules.delete');
}

async function requireLockedRule(db: Db, { tenantId, key, ruleKey }: RulePath) {
  return (await db.row(lockRule(tenantId, key, ruleKey))) ?? fail('workload_rule_not_found');
}

async function checkChoices(
  db: Db,
  tenantId: string,
  { principal_id, audiences, scope_ceiling }: RuleChoices,
): Promise<void> {
  const { kind } = await getPrincipal(db, tenantId, principal_id);
  if (kind === 'human') fail('workload_principal_required');
  refuseWiderCeiling(scope_ceiling, await allowedScopesOf(db, tenantId, audiences));
}

/** @param event undefined if nothing changed */
function record(
  context: Context,
  rule: ShownRuleRow,
  event: EventDeclaration | undefined,
  action: AuditAction,
  more = '',
): void {
  const { id, tenant_id: tenantId, identity_provider_id, key, principal_id } = rule;
  const payload = {
    workloadRuleId: id,
    identityProviderId: identity_provider_id,
    key,
    principalId: principal_id,
  };
  if (event !== undefined) emit(context, event, { tenantId, aggregateId: id }, payload);
  const reason = `provider:${rule.identity_provider} rule:${key}${more}`;
  audit(context, { tenantId, action, resource: ['workload_rule', id], reason });
}
