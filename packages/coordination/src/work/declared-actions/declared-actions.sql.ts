import { sql } from '@baton/kernel/sql';
import type { Json } from '@baton/kernel/wire';
import type { TaskRow } from '../tasks/task.ts';

/** Takes a key for this transaction; no row when a task has it. Of two that ask at once, the second waits for the first. */
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

/** The task that another one was spawned by, the first that it was related to. */
export function findSpawner(tenantId: string, taskId: string) {
  return sql<TaskRow>`
    select t.*, tt.key as type_key, tt.version as type_version,
      (select project_id from workspaces where id = t.workspace_id) as project_id
    from task_relations r join tasks t on t.id = r.to_task_id join task_types tt on tt.id = t.type_id
    where r.tenant_id = ${tenantId} and r.from_task_id = ${taskId} and r.type = 'spawned_by'
    order by r.created_at, r.id limit 1`;
}

/** A member of the metadata of the newest artifact of a type that the task has. */
export function findArtifactMetadata(tenantId: string, taskId: string, type: string, name: string) {
  return sql<{ value: Json }>`
    select metadata -> ${name} as value from artifacts
    where tenant_id = ${tenantId} and task_id = ${taskId} and type = ${type}
    order by created_at desc, id desc limit 1`;
}

/** The same of the newest artifact in which it has a value that is not empty. */
export function findArtifactValue(tenantId: string, taskId: string, type: string, name: string) {
  return sql<{ value: Json }>`
    select metadata -> ${name} as value from artifacts
    where tenant_id = ${tenantId} and task_id = ${taskId} and type = ${type}
      and metadata -> ${name} not in ('null', '""', '{}', '[]')
    order by created_at desc, id desc limit 1`;
}
