import { sql } from '@baton/kernel/database/sql';
import type { JsonObject } from '@baton/values/wire';
import type { ContextFocus } from './context-response.ts';

export interface TypeOfTaskRow {
  key: string;
  version: number;
  instructions: string;
  context_schema: JsonObject;
}

export function findTypeOfTask(tenantId: string, typeId: string) {
  return sql<TypeOfTaskRow>`
    select key, version, instructions, context_schema from task_types where id = ${typeId} and tenant_id = ${tenantId}`;
}

/** The current time by the database's clock, which determines the age of leases and packs. */
export function readClock() {
  return sql<{ now: string }>`select clock_timestamp()::timestamptz(3) as now`;
}

/** The root of a workspace's tree. */
export function findRoot(tenantId: string, workspaceId: string) {
  return sql<{ root_id: string }>`
    select path[1] as root_id from workspaces where id = ${workspaceId} and tenant_id = ${tenantId}`;
}

/** The workspaces of a project, starting with its own. A viewer who sees that one also sees its descendants. */
export function findWorkspacesOfProject(
  tenantId: string,
  { id, workspaceId }: { readonly id: string; readonly workspaceId: string },
  withSubprojects: boolean,
  rowsMax: number,
) {
  return sql<{ id: string }>`
    select id from workspaces
    where tenant_id = ${tenantId} and path @> array[${workspaceId}::uuid]
      and (${withSubprojects}::boolean or project_id = ${id}::uuid)
    order by path limit ${rowsMax}`;
}

/** The parts are JSON with wire names; only their timestamps have a different format. */
export interface FocusPartsRow {
  artifacts: NonNullable<ContextFocus['artifacts']>;
  inputs: (ContextFocus['inputs'][number] & { sourceTaskId: string | null })[];
}

/** The artifacts of a task, newest first, and the inputs that its type requires from other tasks. */
export function findFocusParts(tenantId: string, taskId: string, artifactsMax: number, inputsMax: number) {
  return sql<FocusPartsRow>`
    select
      coalesce((select jsonb_agg(jsonb_build_object('id', id, 'type', type, 'name', name, 'runId', run_id, 'uri', uri,
          'contentState', content_state, 'mediaType', media_type, 'sizeBytes', size_bytes,
          'supersedesArtifactId', supersedes_artifact_id, 'createdAt', created_at) order by created_at desc, id desc) from (
        select * from artifacts where tenant_id = ${tenantId} and task_id = ${taskId}
        order by created_at desc, id desc limit ${artifactsMax}) x), '[]') as artifacts,
      coalesce((select jsonb_agg(jsonb_build_object('key', key, 'type', type, 'from', source, 'required', required,
          'artifactId', artifact_id, 'sourceTaskId', source_task_id) order by place, nth) from (
        select i.*, row_number() over (partition by i.place order by a.created_at desc, a.id desc) as nth
        from task_inputs(${taskId}) i left join artifacts a on a.id = i.artifact_id) x where nth <= ${inputsMax}), '[]')
        as inputs`;
}
