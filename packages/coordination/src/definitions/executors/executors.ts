import { type ItemPage, listPage } from '@baton/kernel/database/list';
import type { Page } from '@baton/kernel/http/paging';
import { findPartsIn } from '../../organisation/assignments/participants.ts';
import { getWorkspaceRow } from '../../organisation/workspaces/workspaces.ts';
import { viewerOf } from '../../service/sight/sight.ts';
import type { Context } from '../context.ts';
import { getTaskType } from '../task-types/task-types.ts';
import type { TaskTypeExecutor } from './executor.ts';
import { findAgentsAtWork, findExecutors, type WorkPlace } from './executors.sql.ts';

/**
 * A page of the principals that can be assigned tasks of a type in a workspace: its active members, and the registered
 * agents whose specs cover workspace and type (docs/reference/definitions.md#executors). A member with such a spec is
 * listed once, as an agent.
 * @throws Refusal `not_found`, `invalid_cursor`
 */
export async function listTaskTypeExecutors(
  context: Context,
  typeId: string,
  workspaceId: string,
  page: Page,
): Promise<ItemPage<TaskTypeExecutor>> {
  const { db, tenantId } = context;
  const { key: typeKey } = await getTaskType(context, typeId);
  const { path, project_id: projectId } = await getWorkspaceRow(context, workspaceId);
  const viewerId = await viewerOf(context);
  const place = { tenantId, workspaceId, path, projectId, typeKey, viewerId };
  const found = await listPage(db, findExecutors(place, page), (row) => row);
  const ids = found.items.map(({ id }) => id);
  const parts = await findPartsIn(context, place, ids);
  const reasons = await findReasons(context, place, ids);
  const items = found.items.map(({ id, kind, display_name: displayName }) => ({
    principalId: id,
    kind,
    displayName,
    roles: parts.get(id)?.roles ?? [],
    reason: reasons.get(id) ?? 'any',
  }));
  return { items, nextCursor: found.nextCursor };
}

/** The reasons for which agents are executors. Principals that are only members are omitted. */
async function findReasons(
  { db }: Context,
  place: WorkPlace,
  principalIds: readonly string[],
): Promise<ReadonlyMap<string, TaskTypeExecutor['reason']>> {
  const atWork = await db.rows(findAgentsAtWork(place, principalIds));
  return new Map(
    atWork.map(({ principal_id: id, names_type: namesType }) => [
      id,
      namesType ? 'agent_task_types' : 'agent_any',
    ]),
  );
}
