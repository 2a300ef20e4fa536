import { sql } from '@baton/kernel/database/sql';
import type { RuleRow } from '../catalog/rule.ts';

/** Whether any rule of the tenant is enabled. */
export function hasEnabledRules(tenantId: string) {
  return sql<{ has: boolean }>`
    select exists (select from rules where tenant_id = ${tenantId} and status = 'enabled') as has`;
}

/** Enabled rules with these triggers, as `kind/type`. */
export function findEnabledRules(tenantId: string, triggers: readonly string[], rulesMax: number) {
  return sql<RuleRow>`
    select * from rules
    where tenant_id = ${tenantId} and status = 'enabled' and trigger_kind in ('event', 'observation')
      and trigger_kind || '/' || trigger_type = any (${triggers})
    order by id limit ${rulesMax}`;
}

/** The enabled rules with these triggers, locked: a change to one of them waits until the end of the turn. */
export function shareRules(tenantId: string, ids: readonly string[]) {
  return sql<RuleRow>`
    select * from rules where tenant_id = ${tenantId} and id = any (${ids}::uuid[]) and status = 'enabled'
    order by id for share`;
}

/** A rule, locked until the end of the transaction. */
export function shareRule(tenantId: string, id: string) {
  return sql<RuleRow>`select * from rules where id = ${id} and tenant_id = ${tenantId} for share`;
}

/** Tenants after this one with rules that are due; each tenant with a schedule costs one index lookup. */
export function findTenantsOnSchedule(after: string, tenantsMax: number) {
  return sql<{ tenant_id: string }>`
    with recursive scheduled as (
      (select tenant_id from rules where next_run_at is not null and tenant_id > ${after} order by tenant_id limit 1)
      union all
      select (
        select r.tenant_id from rules r
        where r.next_run_at is not null and r.tenant_id > s.tenant_id order by r.tenant_id limit 1)
      from scheduled s where s.tenant_id is not null
    )
    select s.tenant_id from scheduled s
    where exists (
      select from rules r where r.tenant_id = s.tenant_id and r.next_run_at is not null and r.next_run_at <= now())
    limit ${tenantsMax}`;
}

export function findDueRules(tenantId: string, except: readonly string[], rowsMax: number) {
  return sql<Pick<RuleRow, 'id'>>`
    select id from rules
    where tenant_id = ${tenantId} and next_run_at is not null and next_run_at <= now() and id <> all (${except}::uuid[])
    order by next_run_at, id limit ${rowsMax}`;
}

export function findRuleOfEvaluation(tenantId: string, id: string) {
  return sql<RuleRow>`select * from rules where id = ${id} and tenant_id = ${tenantId}`;
}

/** Consumes the due time of a schedule and sets the next one in the future: missed times are skipped. */
export function takeSlot(tenantId: string, ruleId: string, everySeconds: number) {
  return sql<{ slot_seconds: number }>`
    with due as (
      select id, next_run_at as slot from rules
      where id = ${ruleId} and tenant_id = ${tenantId} and status = 'enabled' and next_run_at <= clock_timestamp()
      for no key update skip locked
    )
    update rules r
    set next_run_at = due.slot + make_interval(secs => ${everySeconds}::integer *
      (1 + floor(extract(epoch from clock_timestamp() - due.slot) / ${everySeconds}::integer))::float8)
    from due where r.id = due.id
    returning floor(extract(epoch from due.slot))::bigint as slot_seconds`;
}
