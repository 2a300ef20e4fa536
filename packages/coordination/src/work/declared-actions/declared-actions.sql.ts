import { sql } from '@baton/kernel/database/sql';
import type { TaskRow } from '../tasks/task.ts';

/**
 * Reserves a key in this transaction; returns no row if a task already has it. A concurrent request with the same key
 * waits for the first.
 */
export function insertWorkKey(tenantId: string, key: string) {
  return sql<{ key: string }>`
    insert into ensured_work (tenant_id, key) values (${tenantId}, ${key})
    on conflict do nothing
    returning key`;
}

export function updateWorkKey(tenantId: string, key: string, taskId: string) {
  return sql`update ensured_work set task_id = ${taskId} where tenant_id = ${tenantId} and key = ${key}`;
}

export function findEnsuredWork(tenantId: string, key: string) {
  return sql<Pick<TaskRow, 'id' | 'public_id'>>`
    select t.id, t.public_id from ensured_work w join tasks t on t.id = w.task_id
    where w.tenant_id = ${tenantId} and w.key = ${key}`;
}
