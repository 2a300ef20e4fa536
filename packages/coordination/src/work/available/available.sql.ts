import { fragment, type ListOrder, reference, startOf } from '@baton/kernel/database/list';
import { type Statement, sql } from '@baton/kernel/database/sql';
import type { Page } from '@baton/kernel/http/paging';
import { placesSeenBy } from '../../service/sight/places.ts';
import type { TaskRow } from '../tasks/task.ts';
import type { WorkspaceScope } from '../tasks/task-fields.ts';
import { compiled, type Fragment } from './compiled.ts';

export const mostUrgentFirst: ListOrder<TaskRow> = {
  cursor: 'work',
  columns: { priority: 'integer', created_at: 'timestamp', id: 'uuid' },
  direction: 'asc',
};

/** The same of the caller's own tasks, which come before the others. */
export const ownFirst: ListOrder<TaskRow> = { ...mostUrgentFirst, cursor: 'work:own' };

/**
 * Who looks for work, and where. Which members are set decides the texts of the statements, fewer than a hundred, so they are
 * prepared like static ones: planning took twice as long as the search. A kept plan doesn't know the limits, which it takes
 * for a tenth of the queue; `offset 0` keeps it from reading all tasks instead of those that were found.
 */
export interface WorkSearch {
  readonly tenantId: string;
  readonly principalId: string;
  /** Set where the caller sees only a part of the tree of workspaces. */
  readonly viewerId: string | null;
  /** Only what is assigned to them. */
  readonly assigneeId: string | undefined;
  /** Without an assignee: whether it finds what is assigned to anybody, too, or only what is unassigned. */
  readonly includesAssigned: boolean;
  readonly workspace: WorkspaceScope | undefined;
  /** Where several searches share it. */
  readonly shared?: SharedRow;
}

/** What every search reads first, and what takes most of its time for a caller with many roles, or behind many dead claims. */
export interface SharedRow {
  /** The sets of requirements that the caller fulfils. */
  readonly fulfilled: readonly string[];
  /** The tasks that nobody has recorded as free. */
  readonly unnoted: readonly string[];
}

export function findShared(tenantId: string, principalId: string) {
  return sql<SharedRow>`
    select array(select fulfilled_sets(${tenantId}, ${principalId})) as fulfilled,
      array(select tasks_of_dead_claims(${tenantId}) union select tasks_come_due(${tenantId})) as unnoted`;
}

/** Whether the search is for the caller's own tasks: those are read by the indexes of their assignee, wherever they are filed. */
export function isForOwn({ assigneeId, principalId }: WorkSearch): boolean {
  return assigneeId === principalId;
}

/** Whether the search is for a part of the tenant's work, apart from what the caller may claim. */
export function isNarrowed({ assigneeId, workspace, viewerId }: WorkSearch): boolean {
  return assigneeId !== undefined || workspace !== undefined || viewerId !== null;
}

/** By which instant tasks of one priority are ordered. */
type Order = 'created_at' | 'turn_at';

/** Before the first task of all. */
export const beginning = [-1, '-infinity', '00000000-0000-0000-0000-000000000000'] as const;

/**
 * The work of a page that somebody could claim, and one more where there is more; apart from a search in a workspace
 * (work-within.ts): the most urgent first, then the oldest. It is read from the queue by one index, for each set of requirements
 * that the caller fulfils: what others could claim costs nothing.
 */
export function findWork(search: WorkSearch, slice: Slice): Statement<TaskRow> {
  const found = candidates(search, slice);
  return compiled<TaskRow>(fragment`
    ${found}
    select t.*, tt.key as type_key, tt.version as type_version,
      (select project_id from workspaces where id = t.workspace_id) as project_id
    from found f cross join lateral (select * from tasks where id = f.task_id offset 0) t
    join task_types tt on tt.id = t.type_id
    order by f.priority, f.at, f.task_id`);
}

/** The rows of a page, and one more. @throws Refusal `invalid_cursor` */
export function sliceOfPage(page: Page, order = mostUrgentFirst): Slice {
  const start = startOf(order, page) ?? beginning;
  const free = fragment`(t.active_claim_id is null or t.lease_expires_at <= now() or (
      select s.status <> 'active' or s.expires_at <= now()
      from claims c join sessions s on s.id = c.session_id where c.id = t.active_claim_id))`;
  return { order: 'created_at', start, judged: fragment`${free} and ${isOffered}`, rowsMax: page.limit + 1 };
}

/** A task that may be handed out next. */
export interface NextTaskRow {
  task_id: string;
  /** Whether a live claim holds it: its row in the queue is out of date. */
  is_held: boolean;
}

/**
 * The first tasks of the queue by their turn, or by their age where the search is narrowed, those that are held included. Not of a
 * workspace.
 */
export function findNextTasks(search: WorkSearch, rowsMax: number): Statement<NextTaskRow> {
  const order = isNarrowed(search) ? 'created_at' : 'turn_at';
  const found = candidates(search, { order, start: beginning, judged: fragment`true`, rowsMax });
  return compiled<NextTaskRow>(fragment`
    ${found}
    select f.task_id, ${isHeld} as is_held
    from found f
    cross join lateral (select active_claim_id, lease_expires_at from tasks where id = f.task_id offset 0) t
    order by f.priority, f.at, f.task_id`);
}

/** Whether a live claim holds the task `t`. */
export const isHeld = fragment<boolean>`t.active_claim_id is not null and t.lease_expires_at > clock_timestamp() and coalesce((
        select s.status = 'active' and s.expires_at > clock_timestamp()
        from claims c join sessions s on s.id = c.session_id where c.id = t.active_claim_id), false)`;

/** A row of the queue, and where it stands there. */
export interface QueueRow {
  readonly task_id: string;
  readonly set_id: string;
  readonly priority: number;
  readonly turn_at: string;
}

/**
 * Locks the rows of the first unassigned tasks of the queue by their turn, past those that rivals have locked, where one set of
 * requirements has all of them that the caller could take, none is the caller's own, no task's claim is dead, and none has come
 * due just now: the common case. Else no row.
 * A plain search finds the same rows as its rivals: of 16 agents, the last would look past 15 times what it wants.
 * @param front where to begin, and the only set that may have work; the front of the queue when absent
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
  return compiled<QueueRow>(fragment`
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
        select from tasks t where t.id = q.task_id and t.active_claim_id is null and ${mayBeTaken(search)} offset 0)
      and ${behind}
    order by q.priority, q.turn_at, q.task_id
    limit ${atMost(rowsMax)}
    for update of q skip locked`);
}

/** How many pages of the queue and of its index by turn this connection has read within about a second. */
export function findPagesRead() {
  return sql<{ pages: number }>`
    select pg_stat_get_xact_blocks_fetched('work_queue'::regclass)
      + pg_stat_get_xact_blocks_fetched('work_queue_by_turn'::regclass) as pages`;
}

export interface Slice {
  readonly order: Order;
  readonly start: readonly (string | number)[];
  /** A further condition on the task `t`. */
  readonly judged: Fragment;
  readonly rowsMax: number;
}

/**
 * The sets of the queue in which the search finds rows: for each set of requirements that the caller fulfils, that of the
 * unassigned tasks, that of the assigned ones, or both. Nobody has the set of the tasks that aren't due.
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

/** The common table `found`: rows of the queue, and tasks that have no row there which is up to date. */
function candidates(search: WorkSearch, slice: Slice): Fragment {
  const { rowsMax } = slice;
  return fragment`
    with sets as materialized (
      ${setsOf(search)}
    ), found as materialized (
      select * from (
        select part.* from ${placesOf(search, slice)} p cross join lateral (${part(search, slice, rowsMax)}) part
        union all
        (${unnotedPart(search, slice, fragment`true`)})
      ) every
      order by priority, at, task_id limit ${atMost(rowsMax)}
    )`;
}

/**
 * The parts of the queue. Those of the sets are probed for their heads first: no more of them than rows can have a share in
 * the result.
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

/** The first rows of the queue in the place `p`. */
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
      and ${slice.judged} and ${mayBeTaken(search)}
    order by q.priority, ${at}, q.task_id
    limit ${atMost(rowsMax)}`;
}

/**
 * Tasks that nobody has recorded as free: their claim is dead, and :claim-next had taken them out of the queue, or they came due
 * just now. They may be the last ones of their set: `may_claim` evaluates their requirements. Without its `offset` the last `exists`
 * would read the whole queue.
 * @param inReach a further condition on the task `t`
 */
export function unnotedPart(search: WorkSearch, slice: Slice, inReach: Fragment): Fragment {
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
      and ${inReach} and ${slice.judged} and ${mayBeTaken(search)}
    order by t.priority, ${at}, t.id
    limit ${atMost(slice.rowsMax)}`;
}

function isFiledWithin({ tenantId, workspace }: WorkSearch, column: string): Fragment {
  if (workspace === undefined) return fragment`true`;
  return fragment`${reference(column)} in (select w.id from workspaces w where ${isWithin(tenantId, workspace)})`;
}

/** Whether the workspace `w` is one of the scope. */
export function isWithin(tenantId: string, { within, itself, projectId }: WorkspaceScope): Fragment {
  return fragment`w.tenant_id = ${tenantId} and w.path @> ${within}::uuid[]
    and (${itself}::uuid is null or w.id = ${itself}::uuid)
    and (${projectId}::uuid is null or w.project_id = ${projectId}::uuid)`;
}

/** Not of an archived project. The queue has no such row, but for some while a worker takes them out. */
const isOffered = fragment`(t.workspace_id is null or not exists (
  select from workspaces w join projects p on p.id = w.project_id where w.id = t.workspace_id and p.status = 'archived'))`;

/** A limit as a subquery: with the number at hand PostgreSQL plans each call anew, which takes longer than the search. */
export function atMost(rowsMax: number): Fragment {
  return fragment`(select ${rowsMax}::integer)`;
}

export function assignedTo({ assigneeId, includesAssigned }: WorkSearch, column: string): Fragment {
  if (assigneeId !== undefined) return fragment`${reference(column)} = ${assigneeId}`;
  return includesAssigned ? fragment`true` : fragment`${reference(column)} is null`;
}

/**
 * What is not a matter of the set of requirements: other restrictions, whom the task is for, and what the caller sees. A person
 * who may stand in for an addressee is not offered the task: it would be taken from whom it is for. They claim it by its id.
 */
export function mayBeTaken({ principalId, viewerId }: WorkSearch): Fragment {
  const seen = viewerId === null ? fragment`true` : fragment`sees_workspace(${viewerId}, t.workspace_id)`;
  return fragment`(not t.is_restricted or may_claim(t.id, ${principalId}))
    and (not t.is_addressed or is_addressee(t.id, ${principalId})) and ${seen}`;
}
