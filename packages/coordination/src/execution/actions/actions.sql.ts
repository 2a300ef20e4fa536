import { sql } from '@baton/kernel/database/sql';
import type { JsonObject } from '@baton/values/wire';
import type { JournalSlice } from '../runs/journal-page.ts';
import type { ActionRow } from './action.ts';

/** The amounts that an action adds to its run's totals. */
export interface UsedAmounts {
  inputTokens: number | null;
  outputTokens: number | null;
  costMicros: number | null;
  /** Null if there are no costs. */
  currency: string | null;
}

export interface NewAction {
  id: string;
  tenantId: string;
  runId: string;
  skillId: string | null;
  action: string;
  status: string;
  externalReference: string | null;
  metadata: JsonObject;
  usage: UsedAmounts;
}

/**
 * Inserts an action with the run's next number, adds its usage to the run's totals and records progress. The run's row
 * must be locked. Totals are capped at the largest integer that a double represents exactly.
 */
export function insertAction({ usage, ...action }: NewAction) {
  const metadata = JSON.stringify(action.metadata);
  return sql<ActionRow>`
    with run as (
      update runs
      set action_count = action_count + 1, last_progress_at = clock_timestamp(), stalled_at = null,
        stalls_at = clock_timestamp() + make_interval(secs => progress_timeout_seconds),
        input_tokens = least(input_tokens + coalesce(${usage.inputTokens}::bigint, 0), 9007199254740991),
        output_tokens = least(output_tokens + coalesce(${usage.outputTokens}::bigint, 0), 9007199254740991),
        costs = add_cost(costs, ${usage.currency}, ${usage.costMicros}::bigint)
      where id = ${action.runId} and tenant_id = ${action.tenantId}
      returning id, tenant_id, task_id, principal_id, session_id, action_count, last_progress_at as at
    )
    insert into run_actions (id, tenant_id, run_id, task_id, principal_id, session_id, skill_id, seq, action, status,
      external_reference, metadata, data_bytes, input_tokens, output_tokens, cost_micros, currency, started_at, finished_at,
      created_at)
    select ${action.id}, run.tenant_id, run.id, run.task_id, run.principal_id, run.session_id, ${action.skillId}::uuid,
      run.action_count, ${action.action}, ${action.status}, ${action.externalReference}, ${metadata},
      ${Buffer.byteLength(metadata)}, ${usage.inputTokens}, ${usage.outputTokens}, ${usage.costMicros}, ${usage.currency},
      run.at, case when ${action.status} <> 'started' then run.at end, run.at
    from run
    returning *`;
}

export function findAction(tenantId: string, runId: string, actionId: string) {
  return sql<ActionRow>`
    select * from run_actions where id = ${actionId} and run_id = ${runId} and tenant_id = ${tenantId}`;
}

/** Finishes a started action under the run's lock and adds its usage. Returns no row if it was already finished. */
export function updateActionToFinished({
  usage,
  ...action
}: Pick<NewAction, 'id' | 'tenantId' | 'runId' | 'status' | 'externalReference' | 'metadata' | 'usage'>) {
  const metadata = JSON.stringify(action.metadata);
  return sql<ActionRow>`
    with finished as (
      update run_actions
      set status = ${action.status}, finished_at = clock_timestamp(), metadata = ${metadata},
        data_bytes = ${Buffer.byteLength(metadata)},
        external_reference = coalesce(${action.externalReference}, external_reference),
        input_tokens = case when ${usage.inputTokens}::bigint is null then input_tokens
          else coalesce(input_tokens, 0) + ${usage.inputTokens}::bigint end,
        output_tokens = case when ${usage.outputTokens}::bigint is null then output_tokens
          else coalesce(output_tokens, 0) + ${usage.outputTokens}::bigint end,
        cost_micros = case when ${usage.costMicros}::bigint is null then cost_micros
          else coalesce(cost_micros, 0) + ${usage.costMicros}::bigint end,
        currency = coalesce(${usage.currency}, currency)
      where id = ${action.id} and run_id = ${action.runId} and tenant_id = ${action.tenantId} and status = 'started'
      returning *
    ), run as (
      update runs
      set last_progress_at = finished.finished_at, stalled_at = null,
        stalls_at = finished.finished_at + make_interval(secs => progress_timeout_seconds),
        input_tokens = least(runs.input_tokens + coalesce(${usage.inputTokens}::bigint, 0), 9007199254740991),
        output_tokens = least(runs.output_tokens + coalesce(${usage.outputTokens}::bigint, 0), 9007199254740991),
        costs = add_cost(runs.costs, ${usage.currency}, ${usage.costMicros}::bigint)
      from finished where runs.id = finished.run_id
    )
    select * from finished`;
}

/**
 * Finds an enabled skill, given as `name` or `name@version`, that is assigned to the run's principal. Includes its
 * protocol if the run's session listed protocols and this isn't one of them.
 * @param granted the allowed skills as `name@version`; null for all
 */
export function findAssignedSkill(
  tenantId: string,
  run: { principal_id: string; session_id: string },
  skill: string,
  granted: readonly string[] | null,
) {
  return sql<{ id: string; unnamed_protocol: string | null }>`
    select k.id,
      case when exists (
        select from sessions s
        where s.id = ${run.session_id} and 'skills.protocol.' || k.protocol <> all (s.harness_capabilities)
          and exists (select from unnest(s.harness_capabilities) as c(name) where starts_with(c.name, 'skills.protocol.'))
      ) then k.protocol end as unnamed_protocol
    from skill_assignments a join skills k on k.id = a.skill_id
    where a.principal_id = ${run.principal_id} and a.tenant_id = ${tenantId} and k.status <> 'disabled'
      and (k.name = ${skill} or k.name || '@' || k.version = ${skill})
      and (${granted}::text[] is null or k.name || '@' || k.version = any (${granted}))
    order by k.created_at desc, k.id desc limit 1`;
}

/** Finds the matching skills that a handle grants: the given version, or any version if the name has none. */
export function findGrantedSkills(tenantId: string, handleId: string, skill: string) {
  return sql<{ name: string }>`
    select g.name from child_handles h, unnest(h.skills) as g(name)
    where h.id = ${handleId} and h.tenant_id = ${tenantId}
      and (g.name = ${skill} or starts_with(g.name, ${skill} || '@'))`;
}

/** Counts the actions of a run; returns no row for an unknown run. */
export function countActions(tenantId: string, runId: string) {
  return sql<{ count: number }>`
    select action_count as count from runs where id = ${runId} and tenant_id = ${tenantId}`;
}

export function findActions(tenantId: string, runId: string, slice: JournalSlice) {
  return sql<ActionRow>`
    select id, tenant_id, run_id, task_id, principal_id, session_id, skill_id, seq, action, status, external_reference,
      metadata, data_bytes, input_tokens, output_tokens, cost_micros, currency, started_at, finished_at, created_at
    from (
      select *, sum(data_bytes) over (order by seq) - data_bytes as bytes_before from (
        select * from run_actions
        where run_id = ${runId} and tenant_id = ${tenantId} and seq > ${slice.afterSeq}
        order by seq limit ${slice.rowsMax}
      ) as ordered
    ) as measured
    where bytes_before < ${slice.bytesMax}
    order by seq`;
}
