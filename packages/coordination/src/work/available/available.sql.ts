import { sql } from '@baton/kernel/sql';
import type { TaskRow } from '../tasks/task.ts';

/** A place in the order of work: the most urgent first, then the oldest. */
export interface WorkPosition {
  priority: number;
  createdAt: string;
  id: string;
}

/**
 * Open tasks that wait for nothing and that no live claim holds. The index `tasks_available` has them in this order and
 * leaves out what is closed or blocked, so a page reads its own rows and those of the live claims between them. Whether
 * a claim is live is asked in a scalar sub-select, which the planner can't turn into a look at all claims there ever
 * were.
 */
export function readAvailableWork(tenantId: string, after: WorkPosition, rowsMax: number) {
  return sql<TaskRow>`
    select t.*, tt.key as type_key, tt.version as type_version
    from tasks t join task_types tt on tt.id = t.type_id
    where t.tenant_id = ${tenantId} and t.category in ('backlog', 'active', 'blocked') and t.open_prerequisites = 0
      and (t.priority, t.created_at, t.id) > (${after.priority}, ${after.createdAt}, ${after.id})
      and (t.active_claim_id is null or t.lease_expires_at <= now() or (
        select s.status <> 'active' or s.expires_at <= now()
        from claims c join sessions s on s.id = c.session_id where c.id = t.active_claim_id))
    order by t.priority, t.created_at, t.id
    limit ${rowsMax}`;
}

/** The same for one assignee, by `tasks_available_to`. */
export function readAssignedWork(tenantId: string, assigneeId: string, after: WorkPosition, rowsMax: number) {
  return sql<TaskRow>`
    select t.*, tt.key as type_key, tt.version as type_version
    from tasks t join task_types tt on tt.id = t.type_id
    where t.tenant_id = ${tenantId} and t.assignee_id = ${assigneeId}
      and t.category in ('backlog', 'active', 'blocked') and t.open_prerequisites = 0
      and (t.priority, t.created_at, t.id) > (${after.priority}, ${after.createdAt}, ${after.id})
      and (t.active_claim_id is null or t.lease_expires_at <= now() or (
        select s.status <> 'active' or s.expires_at <= now()
        from claims c join sessions s on s.id = c.session_id where c.id = t.active_claim_id))
    order by t.priority, t.created_at, t.id
    limit ${rowsMax}`;
}
