import { sql } from '@baton/kernel/sql';
import type { Json } from '@baton/kernel/wire';
import type { TaskRow } from '../task.ts';

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
