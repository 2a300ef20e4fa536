import { sql } from '@baton/kernel/sql';
import type { Json, JsonObject } from '@baton/kernel/wire';
import type { TaskRow } from '../tasks/task.ts';

/** The task that a task was spawned by; the first that was named, where there are several. */
export function findSpawningTask(tenantId: string, taskId: string) {
  return sql<TaskRow>`
    select t.*, tt.key as type_key, tt.version as type_version
    from task_relations r join tasks t on t.id = r.to_task_id join task_types tt on tt.id = t.type_id
    where r.from_task_id = ${taskId} and r.type = 'spawned_by' and r.tenant_id = ${tenantId}
    order by r.created_at, r.id limit 1`;
}

/** The metadata of the newest artifact of a type that a task has. */
export function findArtifactMetadata(tenantId: string, taskId: string, type: string) {
  return sql<{ metadata: JsonObject & { [name: string]: Json } }>`
    select a.metadata from artifacts a
    where a.tenant_id = ${tenantId} and a.task_id = ${taskId} and a.type = ${type}
    order by a.created_at desc, a.id desc limit 1`;
}
