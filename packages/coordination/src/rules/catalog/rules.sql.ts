import { queryBuilder } from '@baton/kernel/database/db';
import { type ListOrder, matching, pageQuery } from '@baton/kernel/database/list';
import { sql } from '@baton/kernel/database/sql';
import type { Page } from '@baton/kernel/http/paging';
import type { JsonObject } from '@baton/values/wire';
import type { CredentialSnapshot } from '../../access/authn/credential-snapshot.ts';
import { type SeenList, seenByPlace } from '../../service/sight/places.ts';
import type { RuleRow } from './rule.ts';

const jsonOf = (document: unknown) => (document === null ? null : JSON.stringify(document));

export function findRule(tenantId: string, id: string) {
  return sql<RuleRow>`select * from rules where id = ${id} and tenant_id = ${tenantId}`;
}

/** Locks a rule once its running evaluations have ended. */
export function lockRule(tenantId: string, id: string) {
  return sql<RuleRow>`select * from rules where id = ${id} and tenant_id = ${tenantId} for no key update`;
}

export function findRuleOfKey(tenantId: string, key: string) {
  return sql<Pick<RuleRow, 'id'>>`
    select id from rules where tenant_id = ${tenantId} and key = ${key} and status <> 'archived'`;
}

/** The columns that are set while a rule is enabled; nulls for a disabled rule. */
export interface Enabling {
  readonly authority: CredentialSnapshot | null;
  readonly isEnabled: boolean;
  readonly everySeconds: number | null;
}

export type NewRule = Pick<
  RuleRow,
  'id' | 'tenant_id' | 'workspace_id' | 'goal_id' | 'key' | 'description' | 'created_by' | 'identity_agent'
> &
  RuleTexts;
type RuleTexts = Pick<RuleRow, 'trigger' | 'condition' | 'interpretation' | 'action'>;

/** Returns no row if another rule has the key. */
export function insertRule(rule: NewRule, { authority, isEnabled, everySeconds }: Enabling) {
  return sql<RuleRow>`
    insert into rules (id, tenant_id, workspace_id, goal_id, key, description, status, trigger, condition, interpretation,
      action, identity_agent, authority, authority_principal_id, enabled_at, enabled_position, next_run_at, created_by)
    values (${rule.id}, ${rule.tenant_id}, ${rule.workspace_id}, ${rule.goal_id}, ${rule.key}, ${rule.description},
      ${isEnabled ? 'enabled' : 'disabled'}, ${jsonOf(rule.trigger)}, ${JSON.stringify(rule.condition)},
      ${jsonOf(rule.interpretation)}, ${jsonOf(rule.action)}, ${rule.identity_agent}, ${jsonOf(authority)},
      ${authority?.principalId ?? null},
      case when ${isEnabled} then clock_timestamp() end, case when ${isEnabled} then journal_position() end,
      clock_timestamp() + make_interval(secs => ${isEnabled ? everySeconds : null}::integer), ${rule.created_by})
    on conflict (tenant_id, key) where status <> 'archived' do nothing
    returning *`;
}

export type RuleValues = Pick<RuleRow, 'description' | 'goal_id' | 'identity_agent'> & RuleTexts;

/** Writes the next version. @param authority the writer's for an enabled rule, otherwise unchanged */
export function updateRuleValues(
  tenantId: string,
  id: string,
  values: RuleValues,
  { authority, isEnabled, everySeconds }: Enabling,
) {
  return sql<RuleRow>`
    update rules
    set description = ${values.description}, goal_id = ${values.goal_id}, trigger = ${jsonOf(values.trigger)},
      condition = ${JSON.stringify(values.condition)}, interpretation = ${jsonOf(values.interpretation)},
      action = ${jsonOf(values.action)}, identity_agent = ${values.identity_agent}, authority = ${jsonOf(authority)},
      authority_principal_id = ${authority?.principalId ?? null},
      next_run_at = case
        when ${isEnabled ? everySeconds : null}::integer is null then null
        when next_run_at is not null and trigger = ${jsonOf(values.trigger)}::jsonb then next_run_at
        else clock_timestamp() + make_interval(secs => ${everySeconds}::integer) end,
      version = version + 1, updated_at = now()
    where id = ${id} and tenant_id = ${tenantId}
    returning *`;
}

/**
 * Writes the next version under a different key. The caller holds the lock on that key, so no other rule can take it.
 */
export function updateRuleKey(tenantId: string, id: string, key: string) {
  return sql<RuleRow>`
    update rules set key = ${key}, version = version + 1, updated_at = now()
    where id = ${id} and tenant_id = ${tenantId}
    returning *`;
}

export function updateRuleToEnabled(
  tenantId: string,
  id: string,
  authority: CredentialSnapshot,
  everySeconds: number | null,
) {
  return sql<RuleRow>`
    update rules
    set status = 'enabled', authority = ${JSON.stringify(authority)}, authority_principal_id = ${authority.principalId},
      enabled_at = clock_timestamp(), enabled_position = journal_position(),
      next_run_at = clock_timestamp() + make_interval(secs => ${everySeconds}::integer), updated_at = now()
    where id = ${id} and tenant_id = ${tenantId}
    returning *`;
}

export function updateRuleToStopped(tenantId: string, id: string, status: 'disabled' | 'archived') {
  return sql<RuleRow>`
    update rules set status = ${status}, next_run_at = null, updated_at = now()
    where id = ${id} and tenant_id = ${tenantId}
    returning *`;
}

export function insertRuleVersion(tenantId: string, ruleId: string, version: number, record: JsonObject) {
  return sql`
    insert into rule_versions (rule_id, version, tenant_id, record)
    values (${ruleId}, ${version}, ${tenantId}, ${JSON.stringify(record)})`;
}

/** The number of enabled rules, counted up to `rulesMax`. */
export function countEnabledRules(tenantId: string, rulesMax: number) {
  return sql<{ rules: number }>`
    select count(*)::integer as rules from (
      select from rules where tenant_id = ${tenantId} and status = 'enabled' limit ${rulesMax}) as counted`;
}

const build = queryBuilder<{ rules: RuleRow; rule_versions: RuleVersionRow }>();

const newestFirst: ListOrder<RuleRow> = {
  cursor: 'rules',
  columns: { created_at: 'timestamp', id: 'uuid' },
  direction: 'desc',
};

export type RuleFilter = {
  readonly [Column in 'status' | 'workspace_id' | 'key' | 'trigger_kind' | 'package_key']: string | undefined;
};

/** Without a status, archived rules are omitted. */
export function listOfRules(tenantId: string, filter: RuleFilter): SeenList<RuleRow> {
  const foundIn = (source: 'rules') => {
    const query = matching(build.selectFrom(source).selectAll().where('tenant_id', '=', tenantId), filter);
    return filter.status === undefined ? query.where('status', '<>', 'archived') : query;
  };
  return seenByPlace(tenantId, 'rules', foundIn, newestFirst);
}

export interface RuleVersionRow {
  rule_id: string;
  version: number;
  tenant_id: string;
  record: JsonObject;
}

const newestVersionFirst: ListOrder<RuleVersionRow> = {
  cursor: 'rule-versions',
  columns: { version: 'integer' },
  direction: 'desc',
};

export function findRuleVersions(tenantId: string, ruleId: string, page: Page) {
  const query = build
    .selectFrom('rule_versions')
    .selectAll()
    .where('rule_id', '=', ruleId)
    .where('tenant_id', '=', tenantId);
  return pageQuery(query, newestVersionFirst, page);
}

/** Makes pending evaluations due at once: the rule has changed since they started. */
export function updateWaitingToDue(tenantId: string, ruleId: string) {
  return sql`
    update rule_evaluations set next_check_at = clock_timestamp()
    where rule_id = ${ruleId} and tenant_id = ${tenantId} and next_check_at is not null`;
}
