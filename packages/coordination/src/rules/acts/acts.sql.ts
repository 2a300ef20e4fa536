import { sql } from '@baton/kernel/database/sql';

/** The last task that was created under a key, and the version of the rule that created it. */
export interface WorkKeyRow {
  task_id: string | null;
  rule_id: string | null;
  rule_version: number | null;
}

/** Locks a key of the tenant until the end of the transaction, even if no task has this key yet. */
export function lockWorkKey(tenantId: string, key: string) {
  return sql<WorkKeyRow>`
    insert into rule_work as w (tenant_id, dedup_key) values (${tenantId}, ${key})
    on conflict (tenant_id, dedup_key) do update set dedup_key = excluded.dedup_key
    returning w.task_id, w.rule_id, w.rule_version`;
}

export function updateWorkKey(
  tenantId: string,
  key: string,
  work: { taskId: string; ruleId: string; ruleVersion: number },
) {
  return sql`
    update rule_work set task_id = ${work.taskId}, rule_id = ${work.ruleId}, rule_version = ${work.ruleVersion},
      looked_at = clock_timestamp()
    where tenant_id = ${tenantId} and dedup_key = ${key}`;
}

export function findWorkKey(tenantId: string, key: string) {
  return sql<WorkKeyRow>`
    select task_id, rule_id, rule_version from rule_work where tenant_id = ${tenantId} and dedup_key = ${key}`;
}

/**
 * Records that a rule acted on a task, with the length of the chain so far. The events of the action have the same
 * time.
 */
export function recordAct(tenantId: string, taskId: string, chainDepth: number) {
  return sql`
    insert into rule_touched_tasks as t (task_id, tenant_id, chain_depth, touched_at)
    values (${taskId}, ${tenantId}, ${chainDepth}, now())
    on conflict (task_id) do update set chain_depth = excluded.chain_depth, touched_at = excluded.touched_at`;
}

/** The length of the chain that a cause on this task continues; only actions within the last `linkSecondsMax` count. */
export function findChainDepth(tenantId: string, taskId: string, occurredAt: string, linkSecondsMax: number) {
  return sql<{ chain_depth: number }>`
    select chain_depth from rule_touched_tasks
    where task_id = ${taskId} and tenant_id = ${tenantId}
      and ${occurredAt}::timestamptz >= touched_at
      and ${occurredAt}::timestamptz < touched_at + make_interval(secs => ${linkSecondsMax}::integer)`;
}
