import { queryBuilder } from '@baton/kernel/database/db';
import type { ListOrder } from '@baton/kernel/database/list';
import { sql } from '@baton/kernel/database/sql';
import type { ClaimRow } from '../../leases/lease-rows.ts';
import { type SeenList, seenByPlace } from '../../service/sight/places.ts';
import type { TaskRow } from '../tasks/task.ts';

/** The active version of a key: the specified one, or the newest. */
export function findActiveVersion(tenantId: string, key: string, version: number | null) {
  return sql<{ id: string }>`
    select id from task_types
    where tenant_id = ${tenantId} and key = ${key} and status = 'active'
      and version = coalesce(${version}::integer, version)
    order by version desc limit 1`;
}

/**
 * The columns of a task that a migration checks, and whether the caller had a run of it. The columns of the claim and
 * the run are null if there is no live claim or running run.
 */
export type MigratingTaskRow = Pick<
  TaskRow,
  | 'id'
  | 'status'
  | 'category'
  | 'custom_fields'
  | 'acceptance'
  | 'evidence'
  | 'open_verification_id'
  | 'is_addressed'
> & {
  claim_id: string | null;
  expires_at: ClaimRow['expires_at'] | null;
  run_id: string | null;
  verification_status: string | null;
  pending_approvals: string[];
  has_approved_gates: boolean;
  had_run: boolean;
};

/** Reads locked tasks. A claim protects its task only while its lease and its session are live. */
export function findMigratingTasks(tenantId: string, ids: readonly string[], callerId: string) {
  return sql<MigratingTaskRow>`
    select t.id, t.status, t.category, t.custom_fields, t.acceptance, t.evidence, t.open_verification_id, t.is_addressed,
      t.verification ->> 'status' as verification_status, c.id as claim_id, c.expires_at, r.id as run_id,
      array(
        select a.id from approvals a where a.task_id = t.id and a.status = 'pending' order by a.created_at, a.id limit 50
      ) as pending_approvals,
      exists (
        select from approvals a where a.task_id = t.id and a.gate and a.status = 'approved'
      ) as has_approved_gates,
      exists (
        select from runs had where had.task_id = t.id and had.tenant_id = t.tenant_id and had.principal_id = ${callerId}
      ) as had_run
    from tasks t
    left join (claims c join sessions s on s.id = c.session_id and s.status = 'active' and s.expires_at > clock_timestamp()
        and not exists (
          select from endings e where e.principal_id in (s.principal_id, s.on_behalf_of_id) and e.acknowledged_at >= s.started_at))
      on c.id = t.active_claim_id and c.status = 'active' and c.expires_at > clock_timestamp()
    left join runs r on r.task_id = t.id and r.status = 'running'
    where t.id = any (${ids}) and t.tenant_id = ${tenantId}`;
}

/** Locks tasks until the commit, in the order of their ids. @returns those that still have the type */
export function lockTasksOfType(tenantId: string, typeId: string, ids: readonly string[]) {
  return sql<{ id: string }>`
    select id from tasks
    where id = any (${ids}) and tenant_id = ${tenantId} and type_id = ${typeId}
    order by id
    for no key update`;
}

export type MigratedTaskRow = Pick<
  TaskRow,
  'id' | 'public_id' | 'workspace_id' | 'status' | 'category' | 'version'
>;

export function updateTaskTypes(
  tenantId: string,
  typeId: string,
  moves: readonly { id: string; status: string; category: string }[],
) {
  return sql<MigratedTaskRow>`
    update tasks t
    set type_id = ${typeId}, status = moved.status, category = moved.category, version = t.version + 1, updated_at = now(),
      is_restricted = t.requirement_set_id is not null
        or (select has_required_inputs(artifact_schema) from task_types where id = ${typeId})
    from unnest(${moves.map(({ id }) => id)}::uuid[], ${moves.map(({ status }) => status)}::text[],
      ${moves.map(({ category }) => category)}::text[]) as moved(id, status, category)
    where t.id = moved.id and t.tenant_id = ${tenantId}
    returning t.id, t.public_id, t.workspace_id, t.status, t.category, t.version`;
}

const build = queryBuilder<{ tasks: TaskRow }>();

/** The tasks of a type, newest first; the cursor is bound to the type. */
export function listOfTaskIds(
  tenantId: string,
  typeId: string,
): SeenList<Pick<TaskRow, 'id' | 'created_at' | 'workspace_id'>> {
  const foundIn = (source: 'tasks') =>
    build
      .selectFrom(source)
      .select(['id', 'created_at', 'workspace_id'])
      .where('tenant_id', '=', tenantId)
      .where('type_id', '=', typeId);
  return seenByPlace(tenantId, 'tasks', foundIn, orderOfTasks(typeId));
}

export function orderOfTasks(typeId: string): ListOrder<Pick<TaskRow, 'id' | 'created_at' | 'workspace_id'>> {
  return {
    cursor: `tasks_of_type:${typeId}`,
    columns: { created_at: 'timestamp', id: 'uuid' },
    direction: 'desc',
  };
}
