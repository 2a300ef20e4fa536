import { type ListOrder, type PageQuery, startOf } from '@baton/kernel/list';
import type { Page } from '@baton/kernel/paging';
import { sql } from '@baton/kernel/sql';
import type { TaskRow } from '../tasks/task.ts';

const mostUrgentFirst: ListOrder<TaskRow> = {
  cursor: 'work',
  columns: { priority: 'integer', created_at: 'timestamp', id: 'uuid' },
  direction: 'asc',
};

/** Who looks for work; `viewerId` where it sees only a part of the tree of workspaces. */
export interface WorkSeeker {
  readonly principalId: string;
  readonly viewerId: string | null;
}

/** Before the first task of all. */
const beginning = [-1, '-infinity', '00000000-0000-0000-0000-000000000000'] as const;

/**
 * Open tasks that wait for nothing and that no live claim holds. The index `tasks_available` has them in this order and
 * leaves out what is closed or blocked, so a page reads its own rows and those of the live claims between them. Whether
 * a claim is live is asked in a scalar sub-select, which the planner can't turn into a scan of all claims.
 */
export function findAvailableWork(
  tenantId: string,
  { principalId, viewerId }: WorkSeeker,
  page: Page,
): PageQuery<TaskRow> {
  const [priority, createdAt, id] = startOf(mostUrgentFirst, page) ?? beginning;
  const statement = sql<TaskRow>`
    select t.*, tt.key as type_key, tt.version as type_version
    from tasks t join task_types tt on tt.id = t.type_id
    where t.tenant_id = ${tenantId} and t.category in ('backlog', 'active', 'blocked') and t.open_prerequisites = 0 and t.pending_gates = 0
      and t.open_verification_id is null and (not t.is_restricted or may_claim(t.id, ${principalId}))
      and (${viewerId}::uuid is null or sees_workspace(${viewerId}, t.workspace_id))
      and (t.priority, t.created_at, t.id) > (${priority}, ${createdAt}, ${id})
      and (t.active_claim_id is null or t.lease_expires_at <= now() or (
        select s.status <> 'active' or s.expires_at <= now()
        from claims c join sessions s on s.id = c.session_id where c.id = t.active_claim_id))
    order by t.priority, t.created_at, t.id
    limit ${page.limit + 1}`;
  return { statement, order: mostUrgentFirst, page };
}

/** The same for one assignee, by `tasks_available_to`. */
export function findAssignedWork(
  tenantId: string,
  { principalId, viewerId }: WorkSeeker,
  assigneeId: string,
  page: Page,
): PageQuery<TaskRow> {
  const [priority, createdAt, id] = startOf(mostUrgentFirst, page) ?? beginning;
  const statement = sql<TaskRow>`
    select t.*, tt.key as type_key, tt.version as type_version
    from tasks t join task_types tt on tt.id = t.type_id
    where t.tenant_id = ${tenantId} and t.assignee_id = ${assigneeId}
      and t.category in ('backlog', 'active', 'blocked') and t.open_prerequisites = 0 and t.pending_gates = 0
      and t.open_verification_id is null and (not t.is_restricted or may_claim(t.id, ${principalId}))
      and (${viewerId}::uuid is null or sees_workspace(${viewerId}, t.workspace_id))
      and (t.priority, t.created_at, t.id) > (${priority}, ${createdAt}, ${id})
      and (t.active_claim_id is null or t.lease_expires_at <= now() or (
        select s.status <> 'active' or s.expires_at <= now()
        from claims c join sessions s on s.id = c.session_id where c.id = t.active_claim_id))
    order by t.priority, t.created_at, t.id
    limit ${page.limit + 1}`;
  return { statement, order: mostUrgentFirst, page };
}

/**
 * The same for one workspace, or for it and all that stand below it: each one's first tasks are read by
 * `tasks_available_in`.
 */
export function findWorkIn(
  tenantId: string,
  { principalId, viewerId }: WorkSeeker,
  scope: { id: string; includeDescendants: boolean; assigneeId: string | undefined },
  page: Page,
): PageQuery<TaskRow> {
  const [priority, createdAt, id] = startOf(mostUrgentFirst, page) ?? beginning;
  const statement = sql<TaskRow>`
    select part.* from workspaces w cross join lateral (
      select t.*, tt.key as type_key, tt.version as type_version
      from tasks t join task_types tt on tt.id = t.type_id
      where t.tenant_id = ${tenantId} and t.workspace_id = w.id and t.workspace_id is not null
        and (${scope.assigneeId ?? null}::uuid is null or t.assignee_id = ${scope.assigneeId ?? null}::uuid)
        and t.category in ('backlog', 'active', 'blocked') and t.open_prerequisites = 0 and t.pending_gates = 0
        and t.open_verification_id is null and (not t.is_restricted or may_claim(t.id, ${principalId}))
      and (${viewerId}::uuid is null or sees_workspace(${viewerId}, t.workspace_id))
        and (t.priority, t.created_at, t.id) > (${priority}, ${createdAt}, ${id})
        and (t.active_claim_id is null or t.lease_expires_at <= now() or (
          select s.status <> 'active' or s.expires_at <= now()
          from claims c join sessions s on s.id = c.session_id where c.id = t.active_claim_id))
      order by t.priority, t.created_at, t.id
      limit ${page.limit + 1}
    ) part
    where w.tenant_id = ${tenantId} and w.path @> array[${scope.id}::uuid]
      and (${scope.includeDescendants} or w.id = ${scope.id})
    order by part.priority, part.created_at, part.id
    limit ${page.limit + 1}`;
  return { statement, order: mostUrgentFirst, page };
}
