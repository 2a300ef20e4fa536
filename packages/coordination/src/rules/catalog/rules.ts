import { type ItemPage, listPage } from '@baton/kernel/database/list';
import type { Page } from '@baton/kernel/http/paging';
import { newId } from '@baton/values/ids';
import type { JsonObject } from '@baton/values/wire';
import { type CredentialSnapshot, snapshotOf } from '../../access/authn/credential-snapshot.ts';
import { requireMayFile } from '../../access/policy/filed-in.ts';
import { requireStanding } from '../../leases/children/child-grant.ts';
import { emit } from '../../ledger/journal/journal.ts';
import { findSkillByRef } from '../../organisation/skills/skills.ts';
import { lockVersions } from '../../organisation/version-lock.ts';
import { refuseSecretText } from '../../service/documents.ts';
import { isCovered, type Permission, permissionNames } from '../../service/permissions.ts';
import { listSeen } from '../../service/sight/seen-list.ts';
import { requireSight, viewerOf } from '../../service/sight/sight.ts';
import type { Context } from '../context.ts';
import { parseRuleDocuments, type RuleDocuments } from '../documents/rule-documents.ts';
import { triggerKinds } from '../documents/trigger.ts';
import { type RuleWarning, warningsOf } from '../documents/warnings.ts';
import { fail } from '../errors.ts';
import { createCursor } from '../journal-turns/turns.ts';
import { type Rule, type RuleRequest, type RuleRow, ruleOf, ruleStatuses, type WrittenRule } from './rule.ts';
import { type GivenWithRule, requireReferences } from './rule-references.ts';
import { ruleCreated, ruleSummaryOf } from './rules.events.ts';
import {
  countEnabledRules,
  findRule,
  findRuleOfKey,
  findRuleVersions,
  insertRule,
  insertRuleVersion,
  listOfRules,
} from './rules.sql.ts';

/** The name of the cursor that the rules of a tenant share; it exists while at least one of them is enabled. */
export const ruleConsumer = 'work-rules';

/**
 * Creates a rule (docs/reference/rules.md#operations). An enabled rule acts on future events on behalf of the caller,
 * or as its agent.
 * @throws Refusal those of `requireStanding` and `checkRule`, `invalid_rule`, `rule_key_taken`
 */
export async function createRule(context: Context, request: RuleRequest): Promise<WrittenRule> {
  const narrowedBy = await requireStanding(context, 'rules.write');
  const { documents, warnings, identityAgent } = await checkRule(context, request, { narrowedBy });
  const { db, tenantId, caller } = context;
  const { key, description, workspaceId = null, goalId = null } = request;
  const isEnabled = request.status === 'enabled';
  await requireMayFile(context, 'rules.write', workspaceId);
  await lockVersions(context, 'rules', key);
  if (isEnabled) await makeRoomForEnabled(context);
  const authority = isEnabled ? await authorityOf(context, documents, narrowedBy) : null;
  const row = await db.row(
    insertRule(
      {
        id: newId(),
        tenant_id: tenantId,
        workspace_id: workspaceId ?? null,
        goal_id: goalId ?? null,
        key,
        description,
        created_by: caller.principalId,
        identity_agent: identityAgent,
        ...documents,
      },
      { authority, isEnabled, everySeconds: scheduleSeconds(documents) },
    ),
  );
  if (row === undefined) return refuseTakenKey(context, key);
  const rule = await storeVersion(context, row);
  emit(context, ruleCreated, aboutRule(row), ruleSummaryOf(rule));
  return { ...rule, warnings };
}

/** The result of checking a rule before it is written. */
export interface CheckedRule {
  readonly documents: RuleDocuments;
  readonly warnings: RuleWarning[];
  /** The key of the agent that the rule acts as. */
  readonly identityAgent: string | null;
}

/**
 * Checks a rule without writing it, in the order of docs/reference/rules.md#operations.
 * @param options.narrowedBy the result of `requireStanding`
 * @param options.given the objects that count as existing
 * @throws Refusal those of `parseRuleDocuments`, `invalid_status`, those of `requireReferences`
 */
export async function checkRule(
  context: Context,
  request: RuleRequest,
  options: { narrowedBy?: readonly ReadonlySet<string>[]; given?: GivenWithRule } = {},
): Promise<CheckedRule> {
  const { workspaceId = null, goalId = null, identity } = request;
  refuseSecretText(request.description, 'description');
  const documents = parseRuleDocuments(request);
  if (!['enabled', 'disabled'].includes(request.status))
    fail('invalid_status', { allowed: ['enabled', 'disabled'] });
  const place = { workspaceId, goalId, identity };
  const lookUp = { entersWorkspace: true, ...options };
  const identityAgent = await requireReferences(context, place, documents, lookUp);
  return { documents, identityAgent, warnings: warningsOf(documents, context.eventCatalog) };
}

/** Like `checkRule`, for a trial: the key may be that of the existing rule that the request would change. */
export async function validateRule(
  context: Context,
  request: RuleRequest,
): Promise<{ warnings: RuleWarning[] }> {
  const { warnings } = await checkRule(context, request);
  return { warnings };
}

async function refuseTakenKey({ db, tenantId }: Context, key: string): Promise<never> {
  const holder = await db.row(findRuleOfKey(tenantId, key));
  return fail('rule_key_taken', { key, ruleId: holder?.id ?? null });
}

/**
 * Creates the cursor for the tenant's rules and locks it: commands that enable rules run one after another, so that
 * their number stays within the limit.
 * @throws Refusal `invalid_rule` if the limit is reached
 */
export async function makeRoomForEnabled(context: Context): Promise<void> {
  const { db, tenantId, settings } = context;
  const { CP_RULES_ENABLED_MAX: rulesMax } = settings;
  await createCursor(context, ruleConsumer);
  const counted = await db.row(countEnabledRules(tenantId, rulesMax));
  if ((counted?.rules ?? 0) >= rulesMax)
    fail('invalid_rule', { field: 'status', message: 'too many enabled rules', max: rulesMax });
}

/** Stores a copy of the version that was just written. */
export async function storeVersion({ db, tenantId }: Context, row: RuleRow): Promise<Rule> {
  const rule = ruleOf(row);
  await db.run(insertRuleVersion(tenantId, rule.id, rule.version, rule as JsonObject));
  return rule;
}

/** The parts of a rule's actions and documents that require permissions. */
const needed: readonly Permission[] = [
  'tasks.write',
  'tasks.read',
  'events.read',
  'goals.read',
  'approvals.manage',
  'skills.invoke',
];

/**
 * The principal that a rule will act for, and the upper bound of its permissions, including those that its skill
 * requires.
 * @param narrowedBy the result of `requireStanding`
 */
export async function authorityOf(
  context: Context,
  { interpretation }: Pick<RuleDocuments, 'interpretation'>,
  narrowedBy: readonly ReadonlySet<string>[],
): Promise<CredentialSnapshot> {
  const skill = interpretation && (await findSkillByRef(context, interpretation.skill));
  const snapshot = snapshotOf(context.caller, [...needed, ...(skill?.contract?.requiredPermissions ?? [])]);
  if (narrowedBy.length === 0) return snapshot;
  const all = [new Set(snapshot.permissions), ...narrowedBy];
  const permissions = permissionNames.filter((name) => all.every((held) => isCovered(held, name)));
  return { ...snapshot, permissions };
}

export function scheduleSeconds({ trigger }: Pick<RuleDocuments, 'trigger'>): number | null {
  return trigger.kind === 'schedule' ? trigger.everySeconds : null;
}

export function aboutRule({ id: entityId, workspace_id: workspaceId }: RuleRow) {
  return { entityId, workspaceId };
}

/** @throws Refusal `not_found` */
export async function getRule(context: Context, id: string): Promise<Rule> {
  return ruleOf(await getRuleRow(context, id));
}

/** A rule that the caller sees. @throws Refusal `not_found` */
export async function getRuleRow(context: Context, id: string): Promise<RuleRow> {
  const row = (await context.db.row(findRule(context.tenantId, id))) ?? fail('not_found', { ruleId: id });
  await requireSight(context, row.workspace_id, { ruleId: id });
  return row;
}

export interface RuleQuery {
  status?: string | undefined;
  workspaceId?: string | undefined;
  key?: string | undefined;
  triggerKind?: string | undefined;
  package?: string | undefined;
}

/**
 * Without a status, archived rules are omitted.
 * @throws Refusal `invalid_status`, `invalid_rule_trigger`, `invalid_cursor`
 */
export async function listRules(context: Context, query: RuleQuery, page: Page): Promise<ItemPage<Rule>> {
  const { status, workspaceId, key, triggerKind } = query;
  if (status !== undefined && !ruleStatuses.some((known) => known === status))
    fail('invalid_status', { allowed: ruleStatuses });
  if (triggerKind !== undefined && !triggerKinds.some((known) => known === triggerKind))
    fail('invalid_rule_trigger', { field: 'triggerKind', allowed: triggerKinds });
  const filter = {
    status,
    workspace_id: workspaceId,
    key,
    trigger_kind: triggerKind,
    package_key: query.package,
  };
  return listSeen(context.db, await viewerOf(context), listOfRules(context.tenantId, filter), page, ruleOf);
}

/**
 * The versions of a rule, newest first; the package link is the rule's current one.
 * @throws Refusal `not_found`, `invalid_cursor`
 */
export async function listRuleVersions(context: Context, id: string, page: Page): Promise<ItemPage<Rule>> {
  const { package: link } = await getRuleRow(context, id);
  const found = findRuleVersions(context.tenantId, id, page);
  return listPage(context.db, found, ({ record }) => ({ ...(record as unknown as Rule), package: link }));
}
