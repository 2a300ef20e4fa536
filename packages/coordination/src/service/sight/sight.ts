import type { Db } from '@baton/kernel/database/db';
import type { Caller } from '../caller.ts';
import { fail } from '../errors.ts';
import { findBlindViewers, findNarrowSight, findSeenTasks, seesTask, seesWorkspace } from './sight.sql.ts';

/**
 * The part of the workspace tree that the caller sees. A statement filters its rows by
 * `(viewer is null or sees_workspace(viewer, workspace_id))`. See docs/reference/README.md#visibility.
 */

/** A caller and a connection, such as the context of a request. */
export type ViewerContext = { readonly db: Db; readonly tenantId: string; readonly caller: Caller };

const known = new WeakMap<object, Promise<string | null>>();

/** The principal whose memberships limit the caller's visibility; agents and services see everything. */
function personOf({ kind, principalId, seesAs }: Caller): string | undefined {
  return seesAs ?? (kind === 'human' ? principalId : undefined);
}

/**
 * Returns the person whose memberships limit the caller's visibility; null for a caller that sees everything, such as
 * agents and services without `seesAs`. It is read once per request, not from the cache of bindings.
 */
export function viewerOf(context: ViewerContext): Promise<string | null> {
  if (personOf(context.caller) === undefined) return everything;
  const asked = known.get(context) ?? readViewer(context);
  known.set(context, asked);
  return asked;
}

const everything = Promise.resolve(null);

/** Like `viewerOf`, without the result of an earlier call: for streams, which outlive a request. */
export async function readViewer({ db, tenantId, caller }: ViewerContext): Promise<string | null> {
  const person = personOf(caller);
  if (person === undefined) return null;
  return (await db.row(findNarrowSight(tenantId, person)))?.is_narrow === true ? person : null;
}

/** Whether the caller sees the objects of a workspace; null is the tenant itself. */
export async function isInSight(context: ViewerContext, workspaceId: string | null): Promise<boolean> {
  if (workspaceId === null) return true;
  const viewer = await viewerOf(context);
  return viewer === null || (await context.db.row(seesWorkspace(viewer, workspaceId)))?.sees === true;
}

/**
 * @param details as for a missing object, so that invisible and missing objects are indistinguishable
 * @throws Refusal `not_found`
 */
export async function requireSight(
  context: ViewerContext,
  workspaceId: string | null,
  details: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  if (!(await isInSight(context, workspaceId))) fail('not_found', details);
}

/** Returns the people with limited visibility who don't see the objects of a workspace; null is the tenant itself. */
export async function findBlindViewersOf(
  db: Db,
  viewerIds: readonly string[],
  workspaceId: string | null,
): Promise<ReadonlySet<string>> {
  if (workspaceId === null || viewerIds.length === 0) return new Set();
  return new Set((await db.rows(findBlindViewers(viewerIds, workspaceId))).map(({ id }) => id));
}

/** Whether the caller sees a task and its parts. */
export async function isTaskInSight(context: ViewerContext, taskId: string): Promise<boolean> {
  const viewer = await viewerOf(context);
  return viewer === null || (await context.db.row(seesTask(viewer, taskId)))?.sees === true;
}

/** Returns the tasks that the caller sees, without a query for a caller that sees everything. */
export async function tasksInSight(
  context: ViewerContext,
  taskIds: readonly string[],
): Promise<ReadonlySet<string>> {
  const viewer = await viewerOf(context);
  if (viewer === null || taskIds.length === 0) return new Set(taskIds);
  return new Set((await context.db.rows(findSeenTasks(viewer, taskIds))).map(({ id }) => id));
}

/** @throws Refusal `not_found` */
export async function requireSightOfTask(
  context: ViewerContext,
  taskId: string,
  details: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  if (!(await isTaskInSight(context, taskId))) fail('not_found', details);
}

/**
 * Checks an object that belongs to a task or a workspace: if it has a task, the task decides. @throws Refusal
 * `not_found`
 */
export async function requireSightOfPlace(
  context: ViewerContext,
  row: { readonly task_id: string | null; readonly workspace_id: string | null },
  details: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  if (row.task_id === null) await requireSight(context, row.workspace_id, details);
  else await requireSightOfTask(context, row.task_id, details);
}
