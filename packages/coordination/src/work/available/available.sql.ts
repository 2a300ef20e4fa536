import { fragment, type ListOrder, reference, startOf } from '@baton/kernel/database/list';
import { type Statement, sql } from '@baton/kernel/database/sql';
import type { Page } from '@baton/kernel/http/paging';
import { placesSeenBy } from '../../service/sight/places.ts';
import type { TaskRow } from '../tasks/task.ts';
import type { WorkspaceScope } from '../tasks/task-fields.ts';
import { compileStatement, type Fragment } from './compile-statement.ts';

export const mostUrgentFirst: ListOrder<TaskRow> = {
  cursor: 'work',
  columns: { priority: 'integer', created_at: 'timestamp', id: 'uuid' },
  direction: 'asc',
};

/** The order of `mostUrgentFirst` with a separate cursor, for the caller's own tasks, which precede the others. */
export const ownFirst: ListOrder<TaskRow> = { ...mostUrgentFirst, cursor: 'work:own' };

/**
 * The caller and the scope of a search for work. The set of specified members determines the statement text. Fewer than
 * a hundred variants exist, so they are prepared like static statements, because planning took twice as long as the
 * search. A cached plan doesn't know the limits and estimates them as a tenth of the queue; `offset 0` stops it from
 * reading all tasks instead of only the matching ones.
 */
export interface WorkSearch {
  readonly tenantId: string;
  readonly principalId: string;
  /** Set if the caller sees only a part of the workspace tree. */
  readonly viewerId: string | null;
  /** Only tasks assigned to this principal. */
  readonly assigneeId: string | undefined;
  /** Used only without `assigneeId`: whether tasks assigned to anyone are included, or only unassigned ones. */
  readonly includesAssigned: boolean;
  readonly workspace: WorkspaceScope | undefined;
  /** Set if several searches share the data. */
  readonly shared?: SharedRow;
}

/**
 * Data that every search reads first. For a caller with many roles, or with many dead claims, this read takes most of
 * the time.
 */
export interface SharedRow {
  /** The sets of requirements that the caller meets. */
  readonly fulfilled: readonly string[];
  /** Free tasks that are not yet recorded as free. */
  readonly unnoted: readonly string[];
}

export function findShared(tenantId: string, principalId: string) {
  return sql<SharedRow>`
    select array(select fulfilled_sets(${tenantId}, ${principalId})) as fulfilled,
      array(select tasks_of_dead_claims(${tenantId}) union select tasks_come_due(${tenantId})) as unnoted`;
}

/** Whether the search is for the caller's own tasks, which are read by the assignee indexes, in any workspace. */
export function isForOwn({ assigneeId, principalId }: WorkSearch): boolean {
  return assigneeId === principalId;
}

/** Whether the search has a scope in addition to what the caller may claim. */
export function isNarrowed({ assigneeId, workspace, viewerId }: WorkSearch): boolean {
  return assigneeId !== undefined || workspace !== undefined || viewerId !== null;
}

/** The instant by which tasks of the same priority are ordered. */
type Order = 'created_at' | 'turn_at';

/** A position before the first task. */
export const beginning = [-1, '-infinity', '00000000-0000-0000-0000-000000000000'] as const;

/**
 * The claimable work of a page, plus one task if more follow, except for searches in a workspace (work-within.ts).
 * Ordered by priority, then age. The queue is read through one index, per set of requirements that the caller meets, so
 * tasks that only others can claim cost nothing.
 */
export function findWork(search: WorkSearch, slice: Slice): Statement<TaskRow> {
  const found = candidates(search, slice);
  return compileStatement<TaskRow>(fragment`
    ${found}
    select t.*, tt.key as type_key, tt.version as type_version,
      (select project_id from workspaces where id = t.workspace_id) as project_id
    from found f cross join lateral (select * from tasks where id = f.task_id offset 0) t
    join task_types tt on tt.id = t.type_id
    order by f.priority, f.at, f.task_id`);
}

/** The rows of a page, plus one. @throws Refusal `invalid_cursor` */
export function sliceOfPage(page: Page, order = mostUrgentFirst): Slice {
  const start = startOf(order, page) ?? beginning;
  const free = fragment`(t.active_claim_id is null or t.lease_expires_at <= now() or (
      select s.status <> 'active' or s.expires_at <= now()
      from claims c join sessions s on s.id = c.session_id where c.id = t.active_claim_id))`;
  return { order: 'created_at', start, judged: fragment`${free} and ${isOffered}`, rowsMax: page.limit + 1 };
}

/** A candidate for the next claim. */
export interface NextTaskRow {
  task_id: string;
  /** Whether the task has a live claim, in which case its queue row is stale. */
  is_held: boolean;
}

/**
 * The first tasks in the queue by turn, or by age if the search has a scope, including claimed ones. Not used for a
 * workspace scope.
 */
export function findNextTasks(search: WorkSearch, rowsMax: number): Statement<NextTaskRow> {
  const order = isNarrowed(search) ? 'created_at' : 'turn_at';
  const found = candidates(search, { order, start: beginning, judged: fragment`true`, rowsMax });
  return compileStatement<NextTaskRow>(fragment`
    ${found}
    select f.task_id, ${isHeld} as is_held
    from found f
    cross join lateral (select active_claim_id, lease_expires_at from tasks where id = f.task_id offset 0) t
    order by f.priority, f.at, f.task_id`);
}

/** Whether the task `t` has a live claim. */
export const isHeld = fragment<boolean>`t.active_claim_id is not null and t.lease_expires_at > clock_timestamp() and coalesce((
        select s.status = 'active' and s.expires_at > clock_timestamp()
        from claims c join sessions s on s.id = c.session_id where c.id = t.active_claim_id), false)`;

/** A row in the queue, with its position. */
export interface QueueRow {
  readonly task_id: string;
  readonly set_id: string;
  readonly priority: number;
  readonly turn_at: string;
}

/**
 * Locks the rows of the first unassigned tasks in the queue, by turn, and skips those locked by rivals. This covers
 * the common case: one set of requirements contains all tasks that the caller can claim, none of them is assigned
 * to the caller, no task's claim is dead, and none has just become due. In any other case, returns no row. A plain
 * search finds the same rows as its rivals: of 16 agents, the last would read 15 times as many rows as it needs.
 * @param front the start position, and the only set that may have work; by default the front of the queue
 */
export function lockNextTasks(search: WorkSearch, rowsMax: number, front?: QueueRow): Statement<QueueRow> {
  const { tenantId, principalId } = search;
  const hasWork = fragment`exists (select from work_queue q where q.tenant_id = ${tenantId} and q.set_id = sets.id)`;
  const places =
    front === undefined
      ? fragment`select id from sets where ${hasWork} limit 2`
      : fragment`select id from sets where id = ${front.set_id} or ${hasWork} limit 2`;
  const behind =
    front === undefined
      ? fragment`true`
      : fragment`q.set_id = ${front.set_id}
          and (q.priority, q.turn_at, q.task_id) >= (${front.priority}::smallint, ${front.turn_at}::timestamptz, ${front.task_id}::uuid)`;
  return compileStatement<QueueRow>(fragment`
    with sets as materialized (
      select fulfilled_sets(${tenantId}, ${principalId}) as id
    ), places as materialized (${places})
    select q.task_id, q.set_id, q.priority, q.turn_at from work_queue q
    where q.tenant_id = ${tenantId}
      and q.set_id = (
        select id from places
        where (select count(*) from places) = 1
          and not exists (
            select from sets s where exists (
              select from work_queue own where own.assignee_id = ${principalId} and own.set_id = assigned_set(s.id)))
          and not exists (select from tasks_come_due(${tenantId})) and not exists (select from tasks_of_dead_claims(${tenantId})))
      and exists (
        select from tasks t where t.id = q.task_id and t.active_claim_id is null and ${mayBeClaimed(search)} offset 0)
      and ${behind}
    order by q.priority, q.turn_at, q.task_id
    limit ${atMost(rowsMax)}
    for update of q skip locked`);
}

/** The number of pages of the queue and of its index by turn that this connection has read within about a second. */
export function findPagesRead() {
  return sql<{ pages: number }>`
    select pg_stat_get_xact_blocks_fetched('work_queue'::regclass)
      + pg_stat_get_xact_blocks_fetched('work_queue_by_turn'::regclass) as pages`;
}

export interface Slice {
  readonly order: Order;
  readonly start: readonly (string | number)[];
  /** An additional condition on the task `t`. */
  readonly judged: Fragment;
  readonly rowsMax: number;
}

/**
 * The queue's sets that match the search: for each set of requirements that the caller meets, the set of unassigned
 * tasks, that of assigned ones, or both. Tasks that aren't due are in a set that no caller meets.
 */
export function setsOf({
  tenantId,
  principalId,
  assigneeId,
  includesAssigned,
  shared,
}: WorkSearch): Fragment {
  const fulfilled =
    shared === undefined
      ? fragment`fulfilled_sets(${tenantId}, ${principalId})`
      : fragment`unnest((select ${shared.fulfilled}::uuid[]))`;
  if (assigneeId !== undefined) return fragment`select assigned_set(f.id) as id from ${fulfilled} as f (id)`;
  return includesAssigned
    ? fragment`select s.id from ${fulfilled} as f (id) cross join lateral (values (f.id), (assigned_set(f.id))) as s (id)`
    : fragment`select ${fulfilled} as id`;
}

/** The common table `found`: rows in the queue, and tasks without an up-to-date row. */
function candidates(search: WorkSearch, slice: Slice): Fragment {
  const { rowsMax } = slice;
  return fragment`
    with sets as materialized (
      ${setsOf(search)}
    ), found as materialized (
      select * from (
        select part.* from ${placesOf(search, slice)} p cross join lateral (${part(search, slice, rowsMax)}) part
        union all
        (${findUnrecordedFree(search, slice, fragment`true`)})
      ) every
      order by priority, at, task_id limit ${atMost(rowsMax)}
    )`;
}

/**
 * The parts of the queue. The first row of each set is read first, and the number of sets used is limited to the number
 * of rows in the result.
 */
function placesOf(search: WorkSearch, slice: Slice): Fragment {
  const { tenantId, viewerId } = search;
  const places =
    viewerId === null
      ? fragment`select id as set_id from sets`
      : fragment`
          select sets.id as set_id, place.id as place_id from sets, (${placesSeenBy(tenantId, viewerId)}) as place (id)`;
  return fragment`(
    select p.* from (${places}) p cross join lateral (${part(search, slice, 1)}) head
    order by head.priority, head.at, head.task_id limit ${atMost(slice.rowsMax)})`;
}

/** The first queue rows of the place `p`. */
function part(search: WorkSearch, slice: Slice, rowsMax: number): Fragment {
  const at = reference(`q.${slice.order}`);
  const place =
    search.viewerId !== null
      ? fragment`coalesce(q.workspace_id, q.tenant_id) = p.place_id and ${assignedTo(search, 'q.assignee_id')}
          and ${isFiledWithin(search, 'q.workspace_id')}`
      : search.assigneeId === undefined
        ? fragment`true`
        : fragment`q.assignee_id = ${search.assigneeId} and ${isFiledWithin(search, 'q.workspace_id')}`;
  return fragment`
    select q.task_id, q.priority, ${at} as at
    from work_queue q cross join lateral (select * from tasks where id = q.task_id offset 0) t
    where q.tenant_id = ${search.tenantId} and q.set_id = p.set_id and ${place}
      and (q.priority, ${at}, q.task_id) > (${slice.start[0]}::smallint, ${slice.start[1]}::timestamptz, ${slice.start[2]}::uuid)
      and ${slice.judged} and ${mayBeClaimed(search)}
    order by q.priority, ${at}, q.task_id
    limit ${atMost(rowsMax)}`;
}

/**
 * Free tasks that are not yet recorded as free: their claim is dead and :claim-next had removed them from the queue,
 * or they have just become due. They may be the last tasks of their set, so `may_claim` evaluates their
 * requirements. Without its `offset`, the last `exists` would read the whole queue.
 * @param inReach a further condition on the task `t`
 */
export function findUnrecordedFree(search: WorkSearch, slice: Slice, inReach: Fragment): Fragment {
  const at = reference(`t.${slice.order}`);
  const { tenantId, shared } = search;
  const unnoted =
    shared === undefined
      ? fragment`select tasks_of_dead_claims(${tenantId}) as id union select tasks_come_due(${tenantId})`
      : fragment`select unnest((select ${shared.unnoted}::uuid[])) as id`;
  return fragment`
    select t.id as task_id, t.priority::smallint as priority, ${at} as at
    from (${unnoted}) d
    cross join lateral (select * from tasks where id = d.id offset 0) t
    where t.category not in ('terminal_success', 'terminal_cancelled') and t.open_prerequisites = 0
      and t.pending_gates = 0 and t.open_verification_id is null and not t.lacks_input and ${isOffered}
      and (t.category <> 'blocked' or is_claimable_blocked(t.type_id, t.status))
      and (t.available_at is null or t.available_at <= clock_timestamp())
      and ${isFiledWithin(search, 't.workspace_id')} and ${assignedTo(search, 't.assignee_id')}
      and not exists (select from work_queue q where q.task_id = t.id and q.due_at is null offset 0)
      and (t.priority, ${at}, t.id) > (${slice.start[0]}::smallint, ${slice.start[1]}::timestamptz, ${slice.start[2]}::uuid)
      and ${inReach} and ${slice.judged} and ${mayBeClaimed(search)}
    order by t.priority, ${at}, t.id
    limit ${atMost(slice.rowsMax)}`;
}

function isFiledWithin({ tenantId, workspace }: WorkSearch, column: string): Fragment {
  if (workspace === undefined) return fragment`true`;
  return fragment`${reference(column)} in (select w.id from workspaces w where ${isWithin(tenantId, workspace)})`;
}

/** Whether the workspace `w` is in the scope. */
export function isWithin(tenantId: string, { within, itself, projectId }: WorkspaceScope): Fragment {
  return fragment`w.tenant_id = ${tenantId} and w.path @> ${within}::uuid[]
    and (${itself}::uuid is null or w.id = ${itself}::uuid)
    and (${projectId}::uuid is null or w.project_id = ${projectId}::uuid)`;
}

/**
 * Excludes tasks of archived projects. The queue contains no rows for them, except until the worker has removed them.
 */
const isOffered = fragment`(t.workspace_id is null or not exists (
  select from workspaces w join projects p on p.id = w.project_id where w.id = t.workspace_id and p.status = 'archived'))`;

/**
 * The limit is a subquery, because with a parameter PostgreSQL replans each call, which takes longer than the search.
 */
export function atMost(rowsMax: number): Fragment {
  return fragment`(select ${rowsMax}::integer)`;
}

export function assignedTo({ assigneeId, includesAssigned }: WorkSearch, column: string): Fragment {
  if (assigneeId !== undefined) return fragment`${reference(column)} = ${assigneeId}`;
  return includesAssigned ? fragment`true` : fragment`${reference(column)} is null`;
}

/**
 * The conditions apart from the set of requirements: other restrictions, the task's addressee, and the caller's
 * visibility. A person who may act for an addressee is not offered the task, since claiming it would deprive the
 * addressee of it. They can claim it by its id.
 */
export function mayBeClaimed({ principalId, viewerId }: WorkSearch): Fragment {
  const seen = viewerId === null ? fragment`true` : fragment`sees_workspace(${viewerId}, t.workspace_id)`;
  return fragment`(not t.is_restricted or may_claim(t.id, ${principalId}))
    and (not t.is_addressed or is_addressee(t.id, ${principalId})) and ${seen}`;
}
