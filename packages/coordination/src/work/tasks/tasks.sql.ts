import { sql } from '@baton/kernel/database/sql';
import type { Json, JsonObject } from '@baton/values/wire';
import type { TaskRow } from './task.ts';
import type { TaskRef } from './task-ref.ts';

export function findTask(tenantId: string, ref: TaskRef) {
  return sql<TaskRow>`
    select t.*, tt.key as type_key, tt.version as type_version,
      (select project_id from workspaces where id = t.workspace_id) as project_id
    from tasks t join task_types tt on tt.id = t.type_id
    where t.id = coalesce(${ref.id}::uuid, (select id from tasks where tenant_id = ${tenantId} and public_number = ${ref.number}::bigint))
      and t.tenant_id = ${tenantId}`;
}

/**
 * Locks the task for the rest of the command; rows that refer to it can still be added. If a claim is presented, its
 * session is locked first, in shared mode, so that its end is either visible or has to wait.
 */
export function lockTask(tenantId: string, ref: TaskRef, claimId: string | null) {
  return sql<TaskRow>`
    with entered as materialized (
      select enter_session(s.id, s.principal_id, s.on_behalf_of_id) as live_until
      from claims c join sessions s on s.id = c.session_id
      where c.id = ${claimId}::uuid and c.tenant_id = ${tenantId}
    ), locked as materialized (
      select * from tasks t
      where t.id = coalesce(${ref.id}::uuid, (select id from tasks where tenant_id = ${tenantId} and public_number = ${ref.number}::bigint))
        and t.tenant_id = ${tenantId} and (select count(live_until) from entered) >= 0
      for no key update of t
    )
    -- The type is looked up after the wait for the lock, because the task may have been migrated during it.
    select locked.*, tt.key as type_key, tt.version as type_version,
      (select project_id from workspaces where id = locked.workspace_id) as project_id
    from locked join task_types tt on tt.id = locked.type_id`;
}

/** Returns the ids that belong to principals of the tenant. */
export function findPrincipalIds(tenantId: string, ids: readonly string[]) {
  return sql<{ id: string }>`select id from principals where tenant_id = ${tenantId} and id = any (${ids})`;
}

export interface NewTaskValues {
  id: string;
  tenantId: string;
  workspaceId: string | null;
  goalId: string | null;
  typeId: string;
  title: string;
  description: string;
  status: string;
  category: string;
  priority: number;
  ownerId: string | null;
  assigneeId: string | null;
  customFields: JsonObject;
  startDate: string | null;
  dueDate: string | null;
  origin: object;
  acceptance: readonly object[];
  evidence: readonly object[];
  requirementSetId: string | null;
  requirementAuthors: Readonly<Record<string, string>>;
  createdBy: string;
  /** The relation to its parent. It needs no check for cycles, because no relation leads to a new task yet. */
  relationId: string;
  parentTaskId: string | null;
}

/** Inserts a task with the next number of its tenant, and with its parent relation if it has a parent. */
export function insertTask(task: NewTaskValues) {
  return sql<TaskRow>`
    with made as (
      insert into tasks (id, tenant_id, public_number, workspace_id, goal_id, type_id, title, description, status, category, priority,
        owner_id, assignee_id, custom_fields, start_date, due_date, origin, acceptance, evidence, requirement_set_id,
        requirement_authors, is_restricted, created_by)
      values (${task.id}, ${task.tenantId}, next_task_number(${task.tenantId}), ${task.workspaceId}, ${task.goalId}, ${task.typeId}, ${task.title}, ${task.description},
        ${task.status}, ${task.category}, ${task.priority}, ${task.ownerId}, ${task.assigneeId},
        ${JSON.stringify(task.customFields)}, ${task.startDate}, ${task.dueDate}, ${JSON.stringify(task.origin)},
        ${JSON.stringify(task.acceptance)}, ${JSON.stringify(task.evidence)}, ${task.requirementSetId},
        ${JSON.stringify(task.requirementAuthors)},
        ${task.requirementSetId !== null}
          or (select has_required_inputs(artifact_schema) from task_types where id = ${task.typeId}),
        ${task.createdBy})
      returning *
    ), related as (
      insert into task_relations (id, tenant_id, from_task_id, to_task_id, type, created_by)
      select ${task.relationId}, ${task.tenantId}, made.id, ${task.parentTaskId}::uuid, 'parent', ${task.createdBy}
      from made where ${task.parentTaskId}::uuid is not null
    )
    select made.*, tt.key as type_key, tt.version as type_version,
      (select project_id from workspaces where id = made.workspace_id) as project_id
    from made join task_types tt on tt.id = made.type_id`;
}

/** The columns that a change may write. */
export type TaskValues = Pick<
  TaskRow,
  | 'title'
  | 'description'
  | 'priority'
  | 'status'
  | 'category'
  | 'owner_id'
  | 'assignee_id'
  | 'workspace_id'
  | 'goal_id'
  | 'custom_fields'
  | 'start_date'
  | 'due_date'
  | 'acceptance'
  | 'evidence'
  | 'requirement_set_id'
  | 'requirement_authors'
  | 'completed_at'
>;

/** Writes every column that a change may modify; the task is locked, so no other change is overwritten. */
export function updateTaskValues(tenantId: string, taskId: string, values: TaskValues) {
  return sql<TaskRow>`
    update tasks t
    set title = ${values.title}, description = ${values.description}, priority = ${values.priority},
      status = ${values.status}, category = ${values.category}, owner_id = ${values.owner_id},
      assignee_id = ${values.assignee_id}, workspace_id = ${values.workspace_id}, goal_id = ${values.goal_id}, custom_fields = ${JSON.stringify(values.custom_fields)},
      start_date = ${values.start_date}, due_date = ${values.due_date},
      acceptance = ${JSON.stringify(values.acceptance)}, evidence = ${JSON.stringify(values.evidence)},
      requirement_set_id = ${values.requirement_set_id},
      requirement_authors = ${JSON.stringify(values.requirement_authors)},
      is_restricted = ${values.requirement_set_id !== null} or has_required_inputs(tt.artifact_schema),
      completed_at = ${values.completed_at}, version = t.version + 1, updated_at = now()
    from task_types tt
    where t.id = ${taskId} and t.tenant_id = ${tenantId} and tt.id = t.type_id
    returning t.*, tt.key as type_key, tt.version as type_version,
      (select project_id from workspaces where id = t.workspace_id) as project_id`;
}

/**
 * Serializes the commands that count the relations of these tasks, until the commit; the tasks are locked in the given
 * order.
 */
export function lockRelationsOf(taskIds: readonly string[]) {
  return sql`
    select pg_advisory_xact_lock(hashtextextended('relations_of/' || id, 0)) from unnest(${taskIds}::uuid[]) as task (id)`;
}

/**
 * The first task with more relations than the given number. Reads at most one more than that per task, using two
 * indexes.
 */
export function findTaskBeyond(tenantId: string, taskIds: readonly string[], relationsMax: number) {
  return sql<{ id: string }>`
    select id from unnest(${taskIds}::uuid[]) as task (id)
    where ${relationsMax}::integer < (
      select count(*) from (
        select from task_relations where from_task_id = task.id and tenant_id = ${tenantId}
        union all
        select from task_relations where to_task_id = task.id and tenant_id = ${tenantId}
        limit ${relationsMax}::integer + 1
      ) as related)
    limit 1`;
}

/** The task that spawned another one. If several did, the one whose relation was created first. */
export function findSpawner(tenantId: string, taskId: string) {
  return sql<TaskRow>`
    select t.*, tt.key as type_key, tt.version as type_version,
      (select project_id from workspaces where id = t.workspace_id) as project_id
    from task_relations r join tasks t on t.id = r.to_task_id join task_types tt on tt.id = t.type_id
    where r.tenant_id = ${tenantId} and r.from_task_id = ${taskId} and r.type = 'spawned_by'
    order by r.created_at, r.id limit 1`;
}

/** A metadata member of the newest artifact of a type that the task has. */
export function findArtifactMetadata(tenantId: string, taskId: string, type: string, name: string) {
  return sql<{ value: Json }>`
    select metadata -> ${name} as value from artifacts
    where tenant_id = ${tenantId} and task_id = ${taskId} and type = ${type}
    order by created_at desc, id desc limit 1`;
}

/** The member's value in the newest artifact that has a non-empty one. */
export function findArtifactValue(tenantId: string, taskId: string, type: string, name: string) {
  return sql<{ value: Json }>`
    select metadata -> ${name} as value from artifacts
    where tenant_id = ${tenantId} and task_id = ${taskId} and type = ${type}
      and metadata -> ${name} not in ('null', '""', '{}', '[]')
    order by created_at desc, id desc limit 1`;
}

/**
 * The metadata for many expressions at once, in the same order. Values beyond a limit on their total number of
 * characters are omitted, because the values for a few thousand expressions can amount to hundreds of megabytes.
 */
export function findManyMetadata(
  tenantId: string,
  asked: readonly { taskId: string; type: string; name: string }[],
  charactersMax: number,
) {
  const [taskIds, types, names] = [
    asked.map(({ taskId }) => taskId),
    asked.map(({ type }) => type),
    asked.map(({ name }) => name),
  ];
  return sql<{ value: Json }>`
    select value from (
      select asked.n, found.value, sum(length(found.value::text)) over (order by asked.n) as characters
      from unnest(${taskIds}::uuid[], ${types}::text[], ${names}::text[]) with ordinality as asked (task_id, type, name, n)
      left join lateral (
        select metadata -> asked.name as value from artifacts
        where tenant_id = ${tenantId} and task_id = asked.task_id and type = asked.type
        order by created_at desc, id desc limit 1
      ) found on true
    ) counted
    where coalesce(characters, 0) <= ${charactersMax}
    order by n`;
}
