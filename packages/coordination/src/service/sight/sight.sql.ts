import { sql } from '@baton/kernel/database/sql';

/** Whether a live binding limits the principal's visibility to its own workspaces. */
export function findNarrowSight(tenantId: string, principalId: string) {
  return sql<{ is_narrow: boolean }>`
    select exists (
      select from iam_bindings
      where principal_id = ${principalId} and tenant_id = ${tenantId} and status = 'active' and visibility = 'members'
    ) as is_narrow`;
}

export function seesWorkspace(viewerId: string, workspaceId: string) {
  return sql<{ sees: boolean }>`select sees_workspace(${viewerId}, ${workspaceId}) as sees`;
}

/** Returns the given viewers that don't see a workspace. */
export function findBlindViewers(viewerIds: readonly string[], workspaceId: string) {
  return sql<{ id: string }>`
    select id from unnest(${viewerIds}::uuid[]) as viewer (id) where not sees_workspace(id, ${workspaceId})`;
}

/** Returns the tasks that the viewer sees. */
export function findSeenTasks(viewerId: string, taskIds: readonly string[]) {
  return sql<{ id: string }>`
    select id from tasks where id = any (${taskIds}::uuid[]) and sees_workspace(${viewerId}, workspace_id)`;
}

export function seesTask(viewerId: string, taskId: string) {
  return sql<{ sees: boolean }>`select sees_task(${viewerId}, ${taskId}) as sees`;
}
