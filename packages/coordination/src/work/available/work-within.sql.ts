import { fragment, reference } from '@baton/kernel/database/list';
import { type Statement, sql } from '@baton/kernel/database/sql';
import type { TaskRow } from '../tasks/task.ts';
import type { WorkspaceScope } from '../tasks/task-fields.ts';
import {
  assignedTo,
  atMost,
  findUnrecordedFree,
  isHeld,
  isWithin,
  mayBeClaimed,
  type NextTaskRow,
  type Slice,
  setsOf,
  type WorkSearch,
} from './available.sql.ts';
import { compileStatement, type Fragment } from './compile-statement.ts';

/**
 * The number of workspaces that are cached during a queue scan. Beyond it, each row's workspace is looked up, at 5 µs a
 * row.
 */
const rememberedMax = 2000;

/** The limits of one search in a scope of workspaces. */
export interface Reach {
  /** Up to this many workspaces are searched one by one. For a larger scope, the tenant's queue is scanned. */
  readonly workspacesMax: number;
  /** How many rows are read per workspace and set of requirements. */
  readonly rowsOfPlace: number;
  /** How many rows of the tenant's queue are read, for each set of requirements. */
  readonly rowsPassed: number;
}

/** A matching task. The last one may mark the cutoff of the search, after which more tasks may follow. */
export interface FoundRow extends NextTaskRow {
  readonly priority: number;
  readonly at: string;
  readonly is_cut: boolean;
}

/**
 * The first tasks of a search in a scope of workspaces, within its bounds. Rows of the queue are read first, and their
 * tasks only until enough are found. Everything after the end of a truncated part is excluded, even if another part
 * found it.
 */
export function findWorkWithin(
  search: WorkSearch & { readonly workspace: WorkspaceScope },
  slice: Slice,
  { workspacesMax, rowsOfPlace, rowsPassed }: Reach,
): Statement<FoundRow> {
  const { tenantId, workspace } = search;
  const at = fragment`q.${reference(slice.order)}`;
  const rows = (set: Fragment, place: Fragment, rowsMax: number) => fragment`
    select q.task_id, q.priority, ${at} as at, q.workspace_id, q.assignee_id from work_queue q
    where q.tenant_id = ${tenantId} and q.set_id = ${set} and ${place}
      and (q.priority, ${at}, q.task_id) > (${slice.start[0]}::smallint, ${slice.start[1]}::timestamptz, ${slice.start[2]}::uuid)
    order by q.priority, ${at}, q.task_id limit ${atMost(rowsMax)}`;
  const cutAfter = (part: Fragment, rowsMax: number) =>
    fragment`select first.*, row_number() over () = ${rowsMax}::integer as is_last from (${part}) as first`;
  const ofPlace = (place: Fragment) => fragment`coalesce(q.workspace_id, q.tenant_id) = ${place}`;
  const headOfPlace = rows(fragment`sets.id`, ofPlace(fragment`scope.id`), 1);
  const ofHead = rows(fragment`h.set_id`, ofPlace(fragment`h.place_id`), rowsOfPlace);
  const passed = rows(fragment`sets.id`, fragment`true`, rowsPassed);
  const isWanted = assignedTo(search, 'p.assignee_id');
  const upTo = (position: Fragment) =>
    fragment`coalesce(${position} <= (select b.priority, b.at, b.task_id from cut b), true)`;
  const taskAt = reference(`t.${slice.order}`);
  return compileStatement<FoundRow>(fragment`
    with sets as materialized (
      ${setsOf(search)}
    ), scope as materialized (
      select w.id from workspaces w where ${isWithin(tenantId, workspace)}
      limit greatest(${workspacesMax}::integer, ${rememberedMax}::integer) + 1
    ), few as materialized (
      select count(*) <= ${workspacesMax}::integer as are_few, count(*) <= ${rememberedMax}::integer as are_remembered
      from scope
    ), heads as materialized (
      select best.*, row_number() over () as n from (
        select sets.id as set_id, scope.id as place_id, head.*
        from sets cross join scope cross join lateral (${headOfPlace}) head
        where (select are_few from few)
        order by head.priority, head.at, head.task_id limit ${atMost(slice.rowsMax + 1)}
      ) as best
    ), looked as materialized (
      select p.task_id, p.priority, p.at, p.is_last, ${isWanted} as is_wanted
      from heads h cross join lateral (${cutAfter(ofHead, rowsOfPlace)}) p
      where h.n <= ${slice.rowsMax}::integer
      union all
      select p.task_id, p.priority, p.at, true, ${isWanted} from heads p where p.n > ${slice.rowsMax}::integer
      union all
      select p.task_id, p.priority, p.at, p.is_last, ${isWanted} and case
        when (select are_remembered from few) then p.workspace_id is not null and p.workspace_id in (select id from scope)
        else coalesce((
          select ${isWithin(tenantId, workspace)} from workspaces w where w.id = p.workspace_id), false)
        end
      from sets cross join lateral (${cutAfter(passed, rowsPassed)}) p
      where not (select are_few from few)
    ), cut as materialized (
      select priority, at, task_id from looked where is_last order by priority, at, task_id limit 1
    ), found as materialized (
      select * from (
        (select l.task_id, l.priority, l.at from (
          select task_id, priority, at from looked
          where is_wanted and ${upTo(fragment`(priority, at, task_id)`)}
          order by priority, at, task_id
        ) l cross join lateral (select * from tasks where id = l.task_id offset 0) t
        where ${slice.judged} and ${mayBeClaimed(search)}
        order by l.priority, l.at, l.task_id limit ${atMost(slice.rowsMax)})
        union all
        (${findUnrecordedFree(search, slice, upTo(fragment`(t.priority, ${taskAt}, t.id)`))})
      ) every
      order by priority, at, task_id limit ${atMost(slice.rowsMax)}
    )
    select answer.* from (
      select f.task_id, ${isHeld} as is_held, f.priority, f.at, false as is_cut
      from found f
      cross join lateral (select active_claim_id, lease_expires_at from tasks where id = f.task_id offset 0) t
      union all
      select task_id, false, priority, at, true from cut
    ) answer
    order by answer.is_cut, answer.priority, answer.at, answer.task_id`);
}

/** Reads tasks by their ids, in the order of the ids. */
export function findTasksInOrder(tenantId: string, ids: readonly string[]) {
  return sql<TaskRow>`
    select t.*, tt.key as type_key, tt.version as type_version,
      (select project_id from workspaces where id = t.workspace_id) as project_id
    from unnest(${ids}::uuid[]) with ordinality as wanted (id, place)
    join tasks t on t.id = wanted.id and t.tenant_id = ${tenantId}
    join task_types tt on tt.id = t.type_id
    order by wanted.place`;
}
