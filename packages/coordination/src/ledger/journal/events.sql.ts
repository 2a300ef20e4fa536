import type { RowOf } from '@baton/kernel/database/row';
import { part, type SqlPart, sql } from '@baton/kernel/database/sql';
import type { Tables } from '../../service/schema.ts';
import type { JournalPosition } from './cursor.ts';
import type { EventRow } from './event.ts';

/** The bounds of one read, and an event if there is one: the first row is returned even without an event. */
export type PageRow = Pick<
  RowOf<Tables['journal_floors']>,
  'floor_position' | 'floor_sequence' | 'floor_top_sequence'
> & {
  horizon: number;
  /**
   * Whether an open transaction still hides committed events; only determined on request and without a filter,
   * otherwise false.
   */
  is_held_back: boolean;
  /** Whether the positions are those of the server that is running now. */
  is_current: boolean;
  /** Whether the starting position belongs to this history. */
  is_known: boolean;
} & (EventRow | { id: null });

export interface EventFilter {
  /** Patterns of `like`. */
  readonly typePatterns: readonly string[] | null;
  readonly entityType: string | null;
  readonly entityId: string | null;
  readonly actorId: string | null;
  /** Only events filed in this workspace, or in one of its current descendants. */
  readonly workspaceId: string | null;
  /** Only events that this person can see. */
  readonly viewerId: string | null;
}

export interface PageBounds {
  readonly tenantId: string;
  readonly from: JournalPosition;
  /** Skips events up to this sequence, the legacy cursor; 0 for none. */
  readonly afterSequence: number;
  readonly filter: EventFilter;
  readonly rowsMax: number;
  /** The number of events that a filter may skip. */
  readonly scanMax: number;
  readonly asksHeldBack: boolean;
}

// Floor, horizon and events are read in one statement, hence in one snapshot: everything below that snapshot's horizon
// is visible to it, and neither a prune nor an archiving can intervene. An event is in exactly one of the two tables.
// The horizon is the current one each time, without a round trip. The server and the position are also checked in this
// statement: behind a pooler the server may change between any two statements. The archive is not read if it has no
// event after the position. Each table is ordered and limited separately: otherwise PostgreSQL read and sorted both
// tables whole for one page (60 s with 10,000,000 events). Each table is scanned only within its own bounds, because
// the index keeps moved and deleted rows until the next vacuum.
//
// A session is filed in no workspace, and its events name clients that may work in hidden ones. A person with limited
// visibility gets the events of their own sessions and of those opened for them. Others are excluded: whether
// `sees_session` shows a session depends on all its claims, and reading these for each of 50,000 events takes too long.

/** The maximum number of events of one read, plus one that shows whether more follow. */
export const pageRowsMax = 1001;

/**
 * All events after a position, oldest first, by the index (tenant, position, sequence). The planner knows the limits of
 * both tables (`pageRowsMax`), and assumes that the two limits around them leave a hundredth of the rows, so it plans
 * only once. Without the known limits, it planned again for each page of a journal of 10,000,000 events, which took
 * half of the page's time.
 */
export function findEveryEventForward({ tenantId, from, afterSequence, rowsMax, asksHeldBack }: PageBounds) {
  return sql<PageRow>`
    with bound as materialized (
      select f.*, ${boundOf(tenantId, from)},
        ${asksHeldBack} and coalesce((
          select position from events
          where tenant_id = ${tenantId} and (position, sequence) > (f.moved_position, f.moved_sequence)
          order by position desc, sequence desc limit 1
        ) >= horizon, false) as is_held_back,
        (f.moved_position, f.moved_sequence) > (${from.position}, ${from.sequence}) as is_in_archive,
        (f.floor_position, f.floor_sequence) > (${from.position}, ${from.sequence}) as is_below_floor
      from (select journal_horizon() as horizon) now cross join journal_floors f
      where f.tenant_id = ${tenantId}
    )
    select b.floor_position, b.floor_sequence, b.floor_top_sequence, b.horizon, b.is_held_back, b.is_current, b.is_known, e.*
    from bound b left join lateral (
      select * from (
        (select * from archived_events
        where b.is_in_archive and tenant_id = ${tenantId} and (position, sequence) >
            (case when b.is_below_floor then b.floor_position else ${from.position} end,
            case when b.is_below_floor then b.floor_sequence else ${from.sequence} end)
          and sequence > ${afterSequence}
        order by position, sequence limit 1001)
        union all
        (select * from events
        where tenant_id = ${tenantId} and (position, sequence) >
            (case when b.is_in_archive then b.moved_position else ${from.position} end,
            case when b.is_in_archive then b.moved_sequence else ${from.sequence} end)
          and position < b.horizon and sequence > ${afterSequence}
        order by position, sequence limit 1001)
        order by position, sequence limit ${rowsMax}
      ) page
      order by position, sequence limit ${rowsMax}
    ) e on true
    order by e.position, e.sequence`;
}

/** All events before a position, newest first. */
export function findEveryEventBackward({ tenantId, from, rowsMax }: PageBounds) {
  return sql<PageRow>`
    with bound as materialized (
      select f.*, ${boundOf(tenantId, from)}
      from (select journal_horizon() as horizon) now cross join journal_floors f
      where f.tenant_id = ${tenantId}
    )
    select b.floor_position, b.floor_sequence, b.floor_top_sequence, b.horizon, false as is_held_back, b.is_current,
      b.is_known, e.*
    from bound b left join lateral (
      select * from (
        (select * from archived_events
        where (b.moved_position, b.moved_sequence) > (b.floor_position, b.floor_sequence)
          and tenant_id = ${tenantId} and (position, sequence) < (${from.position}, ${from.sequence})
          and (position, sequence) > (b.floor_position, b.floor_sequence)
        order by position desc, sequence desc limit 1001)
        union all
        (select * from events
        where tenant_id = ${tenantId} and (position, sequence) < (${from.position}, ${from.sequence})
          and (position, sequence) > (b.moved_position, b.moved_sequence) and position < b.horizon
        order by position desc, sequence desc limit 1001)
        order by position desc, sequence desc limit ${rowsMax}
      ) page
      order by position desc, sequence desc limit ${rowsMax}
    ) e on true
    order by e.position desc, e.sequence desc`;
}

/** The events that pass a filter. */
export function findEventsForward({ tenantId, from, afterSequence, filter, ...bounds }: PageBounds) {
  return sql<PageRow>`
    ${selectPage(tenantId, from)}
    cross join lateral journal_begin(f, ${from.position}, ${from.sequence}) begin
    left join lateral (
      select * from (
        (select * from archived_events
        where ${isArchivedAfter(tenantId, from, afterSequence)}
        order by position, sequence limit ${bounds.scanMax})
        union all
        (select * from events
        where ${isHotAfter(tenantId, afterSequence, part`b.horizon`)}
        order by position, sequence limit ${bounds.scanMax})
        order by position, sequence limit ${bounds.scanMax}
      ) passed
      where ${passesFilter(tenantId, filter)}
      order by position, sequence limit ${bounds.rowsMax}
    ) e on true
    where f.tenant_id = ${tenantId}
    order by e.position, e.sequence`;
}

/** The events that pass a filter. */
export function findEventsBackward({ tenantId, from, filter, ...bounds }: PageBounds) {
  return sql<PageRow>`
    ${selectPage(tenantId, from)} left join lateral (
      select * from (
        (select * from archived_events
        where ${isArchivedBefore(tenantId, from)}
        order by position desc, sequence desc limit ${bounds.scanMax})
        union all
        (select * from events
        where ${isHotBefore(tenantId, from, part`b.horizon`)}
        order by position desc, sequence desc limit ${bounds.scanMax})
        order by position desc, sequence desc limit ${bounds.scanMax}
      ) passed
      where ${passesFilter(tenantId, filter)}
      order by position desc, sequence desc limit ${bounds.rowsMax}
    ) e on true
    where f.tenant_id = ${tenantId}
    order by e.position desc, e.sequence desc`;
}

/** All events of one entity after a position, by the index of the entity's stream, so no event is skipped. */
export function findEntityEventsForward({ tenantId, from, afterSequence, filter, rowsMax }: PageBounds) {
  return sql<PageRow>`
    ${selectPage(tenantId, from)}
    cross join lateral journal_begin(f, ${from.position}, ${from.sequence}) begin
    left join lateral (
      (select * from archived_events
      where ${isArchivedAfter(tenantId, from, afterSequence)} and entity_id = ${filter.entityId}
        and ${passesFilter(tenantId, filter)}
      order by position, sequence limit ${rowsMax})
      union all
      (select * from events
      where ${isHotAfter(tenantId, afterSequence, part`b.horizon`)} and entity_id = ${filter.entityId}
        and ${passesFilter(tenantId, filter)}
      order by position, sequence limit ${rowsMax})
      order by position, sequence limit ${rowsMax}
    ) e on true
    where f.tenant_id = ${tenantId}
    order by e.position, e.sequence`;
}

export function findEntityEventsBackward({ tenantId, from, filter, rowsMax }: PageBounds) {
  return sql<PageRow>`
    ${selectPage(tenantId, from)} left join lateral (
      (select * from archived_events
      where ${isArchivedBefore(tenantId, from)} and entity_id = ${filter.entityId}
        and ${passesFilter(tenantId, filter)}
      order by position desc, sequence desc limit ${rowsMax})
      union all
      (select * from events
      where ${isHotBefore(tenantId, from, part`b.horizon`)} and entity_id = ${filter.entityId}
        and ${passesFilter(tenantId, filter)}
      order by position desc, sequence desc limit ${rowsMax})
      order by position desc, sequence desc limit ${rowsMax}
    ) e on true
    where f.tenant_id = ${tenantId}
    order by e.position desc, e.sequence desc`;
}

/** A position in the journal; the floor is returned even if there is no position. */
export type ScanEndRow = Pick<PageRow, 'floor_position' | 'floor_sequence'> &
  (JournalPosition | { position: null });

/**
 * The position at which a read stopped because its filter skipped `scanMax` events; no row if it reached the end. Only
 * correct if the floor hasn't changed since the page was read, because a prune leaves fewer events to count.
 */
export function findScanEndForward({ tenantId, from, afterSequence, scanMax }: PageBounds, horizon: number) {
  return sql<ScanEndRow>`
    select f.floor_position, f.floor_sequence, e.position, e.sequence
    from journal_floors f
    cross join lateral journal_begin(f, ${from.position}, ${from.sequence}) begin
    left join lateral (
      (select position, sequence from archived_events
      where ${isArchivedAfter(tenantId, from, afterSequence)}
      order by position, sequence limit ${scanMax})
      union all
      (select position, sequence from events
      where ${isHotAfter(tenantId, afterSequence, horizon)}
      order by position, sequence limit ${scanMax})
      order by position, sequence offset ${scanMax - 1} limit 1
    ) e on true
    where f.tenant_id = ${tenantId}`;
}

/**
 * If a prune intervenes, fewer events may remain than were skipped; the query then returns no row, because no earlier
 * events remain.
 */
export function findScanEndBackward({ tenantId, from, scanMax }: PageBounds, horizon: number) {
  return sql<JournalPosition>`
    select e.position, e.sequence
    from journal_floors f cross join lateral (
      (select position, sequence from archived_events
      where ${isArchivedBefore(tenantId, from)}
      order by position desc, sequence desc limit ${scanMax})
      union all
      (select position, sequence from events
      where ${isHotBefore(tenantId, from, horizon)}
      order by position desc, sequence desc limit ${scanMax})
      order by position desc, sequence desc offset ${scanMax - 1} limit 1
    ) e
    where f.tenant_id = ${tenantId}`;
}

/** Finds the newest event after a position; returns no row if there is none. */
export function findNewest({ tenantId, from, afterSequence }: PageBounds, horizon: number) {
  return sql<JournalPosition>`
    select e.position, e.sequence
    from journal_floors f
    cross join lateral journal_begin(f, ${from.position}, ${from.sequence}) begin
    cross join lateral (
      (select position, sequence from archived_events
      where ${isArchivedAfter(tenantId, from, afterSequence)}
      order by position desc, sequence desc limit 1)
      union all
      (select position, sequence from events
      where ${isHotAfter(tenantId, afterSequence, horizon)}
      order by position desc, sequence desc limit 1)
      order by position desc, sequence desc limit 1
    ) e
    where f.tenant_id = ${tenantId}`;
}

/**
 * The position from which a reader of another history continues: after the last event that both histories can have.
 * Below the horizon, that is the newest event up to its position, because later writes are in later epochs. Above the
 * horizon, the current epoch itself may differ, so everything is read again.
 */
export function findCommonEvent({ tenantId, from }: PageBounds, horizon: number) {
  return sql<JournalPosition>`
    select e.position, e.sequence
    from journal_floors f
    cross join (select coalesce(max(first_position), 0) as begin from journal_epochs) present
    cross join lateral (
      (select position, sequence from archived_events
      where (f.moved_position, f.moved_sequence) > (f.floor_position, f.floor_sequence)
        and tenant_id = ${tenantId} and (position, sequence) <= (${from.position}, ${from.sequence})
        and (position, sequence) > (f.floor_position, f.floor_sequence)
        and (${from.position} <= ${horizon}::bigint or position < present.begin)
      order by position desc, sequence desc limit 1)
      union all
      (select position, sequence from events
      where tenant_id = ${tenantId} and (position, sequence) <= (${from.position}, ${from.sequence})
        and (position, sequence) > (f.moved_position, f.moved_sequence)
        and (${from.position} <= ${horizon}::bigint or position < present.begin)
      order by position desc, sequence desc limit 1)
      order by position desc, sequence desc limit 1
    ) e
    where f.tenant_id = ${tenantId}`;
}

/**
 * The horizon, whether the positions are those of the running server, and whether the position belongs to this history.
 */
function boundOf(tenantId: string, from: JournalPosition) {
  return part`horizon, journal_epoch_is_current() as is_current,
        is_journal_place(${tenantId}, ${from.position}, ${from.sequence}, horizon) as is_known`;
}

/** The beginning of a page: the floor `f` and the bound `b`; the events `e` follow. */
function selectPage(tenantId: string, from: JournalPosition) {
  return part`with bound as materialized (
      select ${boundOf(tenantId, from)} from (select journal_horizon() as horizon) now
    )
    select f.floor_position, f.floor_sequence, f.floor_top_sequence, b.*, false as is_held_back, e.*
    from journal_floors f cross join bound b`;
}

function isArchivedAfter(tenantId: string, from: JournalPosition, afterSequence: number) {
  return part`(f.moved_position, f.moved_sequence) > (${from.position}, ${from.sequence}) and tenant_id = ${tenantId}
          and (position, sequence) > (begin.archive_position, begin.archive_sequence) and sequence > ${afterSequence}`;
}

function isHotAfter(tenantId: string, afterSequence: number, horizon: SqlPart | number) {
  return part`tenant_id = ${tenantId} and (position, sequence) > (begin.hot_position, begin.hot_sequence)
          and position < ${horizon} and sequence > ${afterSequence}`;
}

function isArchivedBefore(tenantId: string, from: JournalPosition) {
  return part`(f.moved_position, f.moved_sequence) > (f.floor_position, f.floor_sequence) and tenant_id = ${tenantId}
          and (position, sequence) < (${from.position}, ${from.sequence})
          and (position, sequence) > (f.floor_position, f.floor_sequence)`;
}

function isHotBefore(tenantId: string, from: JournalPosition, horizon: SqlPart | number) {
  return part`tenant_id = ${tenantId} and (position, sequence) < (${from.position}, ${from.sequence})
          and (position, sequence) > (f.moved_position, f.moved_sequence) and position < ${horizon}`;
}

function passesFilter(tenantId: string, filter: EventFilter) {
  return part`(${filter.typePatterns}::text[] is null or type like any (${filter.typePatterns}::text[]))
        and (${filter.entityType}::text is null or entity_type = ${filter.entityType})
        and (${filter.actorId}::uuid is null or actor_id = ${filter.actorId})
        and (${filter.workspaceId}::uuid is null or workspace_id in (
          select w.id from workspaces w where w.tenant_id = ${tenantId} and w.path @> array[${filter.workspaceId}::uuid]))
        and (${filter.viewerId}::uuid is null or sees_workspace(${filter.viewerId}, workspace_id))
        and (${filter.viewerId}::uuid is null or entity_type <> 'session' or exists (
          select from sessions s where s.id = entity_id and ${filter.viewerId}::uuid in (s.principal_id, s.on_behalf_of_id)))`;
}

export function findWorkspaceId(tenantId: string, workspaceId: string) {
  return sql<{ id: string }>`select id from workspaces where id = ${workspaceId} and tenant_id = ${tenantId}`;
}
