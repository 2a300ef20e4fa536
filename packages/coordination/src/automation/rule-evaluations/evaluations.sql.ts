import { queryBuilder } from '@baton/kernel/db';
import { type ListOrder, matching, pageQuery } from '@baton/kernel/list';
import type { Page } from '@baton/kernel/paging';
import { sql } from '@baton/kernel/sql';
import type { QueuePosition } from '../../service/queue-walk.ts';
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

/** No row when the rule has looked at this cause before. */
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
  'status' | 'result' | 'created_task_ids' | 'error' | 'pending' | 'skill_invocation_id'
> & {
  /** In how many seconds to look again; null for one that is final. */
  readonly againSeconds: number | null;
};

export function updateEvaluation(tenantId: string, id: string, end: EvaluationEnd) {
  return sql`
    update rule_evaluations
    set status = ${end.status}, result = ${JSON.stringify(end.result)}, created_task_ids = ${end.created_task_ids}::uuid[],
      error = ${end.error === null ? null : JSON.stringify(end.error)},
      skill_invocation_id = ${end.skill_invocation_id},
      pending = ${end.pending === null ? null : JSON.stringify(end.pending)},
      next_check_at = clock_timestamp() + make_interval(secs => ${end.againSeconds}::integer), failures = 0,
      updated_at = clock_timestamp()
    where id = ${id} and tenant_id = ${tenantId}`;
}

/** Notes an unexpected failure; the evaluation is looked at again later. */
export function updateFailedLook(tenantId: string, id: string, againSeconds: number) {
  return sql`
    update rule_evaluations
    set failures = failures + 1, next_check_at = clock_timestamp() + make_interval(secs => ${againSeconds}::integer)
    where id = ${id} and tenant_id = ${tenantId}`;
}

export type DueEvaluationRow = Pick<EvaluationRow, 'id' | 'tenant_id'> & { next_check_at: string };

export function findDueEvaluations([nextCheckAt, id]: QueuePosition, rowsMax: number) {
  return sql<DueEvaluationRow>`
    select id, tenant_id, next_check_at from rule_evaluations
    where next_check_at is not null and next_check_at <= now()
      and (next_check_at, id) > (${nextCheckAt}::timestamptz, ${id}::uuid)
    order by next_check_at, id limit ${rowsMax}`;
}

export function findEvaluation(tenantId: string, id: string) {
  return sql<EvaluationRow>`select * from rule_evaluations where id = ${id} and tenant_id = ${tenantId}`;
}

/** One that waits and is due, if nobody else has it; `is_over` when it has waited for longer than it may. */
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
