import { queryBuilder } from '@baton/kernel/database/db';
import { type ListOrder, matching, pageQuery } from '@baton/kernel/database/list';
import { sql } from '@baton/kernel/database/sql';
import type { Page } from '@baton/kernel/http/paging';
import type { EvaluationRow } from './evaluation.ts';

export type NewEvaluation = Pick<
  EvaluationRow,
  | 'id'
  | 'tenant_id'
  | 'workspace_id'
  | 'rule_id'
  | 'rule_version'
  | 'trigger_ref'
  | 'trigger_event_id'
  | 'evidence'
  | 'chain_depth'
>;

/** Returns no row if the rule has already evaluated this cause. */
export function insertEvaluation(evaluation: NewEvaluation) {
  return sql<Pick<EvaluationRow, 'id'>>`
    insert into rule_evaluations (id, tenant_id, workspace_id, rule_id, rule_version, trigger_ref, trigger_event_id, status,
      evidence, chain_depth)
    values (${evaluation.id}, ${evaluation.tenant_id}, ${evaluation.workspace_id}, ${evaluation.rule_id},
      ${evaluation.rule_version}, ${evaluation.trigger_ref}, ${evaluation.trigger_event_id}, 'waiting',
      ${JSON.stringify(evaluation.evidence)}, ${evaluation.chain_depth})
    on conflict (rule_id, trigger_ref) do nothing
    returning id`;
}

export type EvaluationEnd = Pick<
  EvaluationRow,
  'status' | 'result' | 'created_task_ids' | 'error' | 'pending' | 'skill_invocation_id' | 'waits_for'
> & {
  /** Seconds until the next attempt; null for a final evaluation. */
  readonly againSeconds: number | null;
};

export function updateEvaluation(tenantId: string, id: string, end: EvaluationEnd) {
  return sql`
    update rule_evaluations
    set status = ${end.status}, result = ${JSON.stringify(end.result)}, created_task_ids = ${end.created_task_ids}::uuid[],
      error = ${end.error === null ? null : JSON.stringify(end.error)},
      skill_invocation_id = ${end.skill_invocation_id},
      pending = ${end.pending === null ? null : JSON.stringify(end.pending)}, waits_for = ${end.waits_for}::uuid[],
      next_check_at = clock_timestamp() + make_interval(secs => ${end.againSeconds}::integer), failures = 0,
      updated_at = clock_timestamp()
    where id = ${id} and tenant_id = ${tenantId}`;
}

/** Records an unexpected error; the evaluation is retried later. */
export function updateFailedAttempt(tenantId: string, id: string, againSeconds: number) {
  return sql`
    update rule_evaluations
    set failures = failures + 1, next_check_at = clock_timestamp() + make_interval(secs => ${againSeconds}::integer)
    where id = ${id} and tenant_id = ${tenantId}`;
}

/** Tenants after this one with due evaluations; each tenant with a pending one costs one index lookup. */
export function findTenantsDue(after: string, tenantsMax: number) {
  return sql<{ tenant_id: string }>`
    with recursive waiting as (
      (select tenant_id from rule_evaluations
       where next_check_at is not null and tenant_id > ${after} order by tenant_id limit 1)
      union all
      select (
        select e.tenant_id from rule_evaluations e
        where e.next_check_at is not null and e.tenant_id > w.tenant_id order by e.tenant_id limit 1)
      from waiting w where w.tenant_id is not null
    )
    select w.tenant_id from waiting w
    where exists (
      select from rule_evaluations e where e.tenant_id = w.tenant_id and e.next_check_at is not null and e.next_check_at <= now())
    limit ${tenantsMax}`;
}

export function findDueEvaluations(tenantId: string, except: readonly string[], rowsMax: number) {
  return sql<Pick<EvaluationRow, 'id'>>`
    select id from rule_evaluations
    where tenant_id = ${tenantId} and next_check_at is not null and next_check_at <= now()
      and id <> all (${except}::uuid[])
    order by next_check_at, id limit ${rowsMax}`;
}

/** Makes evaluations due that wait for one of these tasks or calls, except those that are being processed. */
export function updatePendingToDue(tenantId: string, ended: readonly string[]) {
  return sql`
    with free as (
      select id from rule_evaluations
      where tenant_id = ${tenantId} and next_check_at is not null and waits_for && ${ended}::uuid[]
      for no key update skip locked
    )
    update rule_evaluations e set next_check_at = least(e.next_check_at, clock_timestamp())
    from free where e.id = free.id`;
}

/** Whether the rule or the tenant, not counting this evaluation, has reached the limit of pending evaluations. */
export function isPendingFull(
  tenantId: string,
  ruleId: string,
  { exceptId, ofRuleMax, ofTenantMax }: { exceptId: string; ofRuleMax: number; ofTenantMax: number },
) {
  return sql<{ is_full: boolean }>`
    select (
        select count(*) from (
          select from rule_evaluations
          where rule_id = ${ruleId} and next_check_at is not null and id <> ${exceptId} limit ${ofRuleMax}
        ) as waiting) >= ${ofRuleMax}::bigint
      or (
        select count(*) from (
          select from rule_evaluations
          where tenant_id = ${tenantId} and next_check_at is not null and id <> ${exceptId} limit ${ofTenantMax}
        ) as waiting) >= ${ofTenantMax}::bigint as is_full`;
}

/** The items of an evaluation left over from a turn. */
export function findLeft(tenantId: string, ruleId: string, triggerRef: string) {
  return sql<Pick<EvaluationRow, 'id'>>`
    select id from rule_evaluations
    where tenant_id = ${tenantId} and rule_id = ${ruleId} and trigger_ref = ${triggerRef} and pending -> 'left' is not null`;
}

export function findEvaluation(tenantId: string, id: string) {
  return sql<EvaluationRow>`select * from rule_evaluations where id = ${id} and tenant_id = ${tenantId}`;
}

/** A due evaluation, if no other process has locked it; `is_over` if it has been pending for longer than the limit. */
export function lockDueEvaluation(tenantId: string, id: string, waitSecondsMax: number) {
  return sql<EvaluationRow & { is_over: boolean }>`
    select *, created_at + make_interval(secs => ${waitSecondsMax}::integer) <= clock_timestamp() as is_over
    from rule_evaluations
    where id = ${id} and tenant_id = ${tenantId} and next_check_at <= clock_timestamp()
    for no key update skip locked`;
}

const build = queryBuilder<{ rule_evaluations: EvaluationRow }>();

const newestFirst: ListOrder<EvaluationRow> = {
  cursor: 'rule-evaluations',
  columns: { created_at: 'timestamp', id: 'uuid' },
  direction: 'desc',
};

export function findEvaluations(tenantId: string, ruleId: string, status: string | undefined, page: Page) {
  const query = build
    .selectFrom('rule_evaluations')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('rule_id', '=', ruleId);
  return pageQuery(matching(query, { status }), newestFirst, page);
}
