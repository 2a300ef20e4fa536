import type { Db } from '@baton/kernel/database/db';
import type { Caller } from '../caller.ts';
import { fail } from '../errors.ts';
import { findBlindViewers, findNarrowSight, findSeenTasks, seesTask, seesWorkspace } from './sight.sql.ts';

/**
 * What the caller sees of the tree of workspaces (organisation, section 1.5). A statement narrows its rows by
 * `(viewer is null or sees_workspace(viewer, workspace_id))`.
 */

/** Who asks, and where: the context of a request is one. */
export type Asking = { readonly db: Db; readonly tenantId: string; readonly caller: Caller };

const known = new WeakMap<object, Promise<string | null>>();

/** Whose memberships may decide what the caller sees: nobody's for agents and services, which see everything. */
function personOf({ kind, principalId, seesAs }: Caller): string | undefined {
  return seesAs ?? (kind === 'human' ? principalId : undefined);
}

/**
 * The person whose memberships decide what the caller sees; null for who sees everything: agents and services always, unless
 * they act for somebody (`seesAs`). Read once for each request, not from the cache of bindings.
 */
export function viewerOf(context: Asking): Promise<string | null> {
  if (personOf(context.caller) === undefined) return everything;
  const asked = known.get(context) ?? readViewer(context);
  known.set(context, asked);
  return asked;
}

const everything = Promise.resolve(null);

/** The same without what an earlier call has read: for streams, which outlive a request. */
export async function readViewer({ db, tenantId, caller }: Asking): Promise<string | null> {
  const person = personOf(caller);
  if (person === undefined) return null;
  return (await db.row(findNarrowSight(tenantId, person)))?.is_narrow === true ? person : null;
}

/** Whether the caller sees what is filed in a workspace; null is the tenant itself. */
export async function isInSight(context: Asking, workspaceId: string | null): Promise<boolean> {
  if (workspaceId === null) return true;
  const viewer = await viewerOf(context);
  return viewer === null || (await context.db.row(seesWorkspace(viewer, workspaceId)))?.sees === true;
}

/**
 * @param details those of the object's own absence: what is out of sight answers like what is not there
 * @throws Refusal `not_found`
 */
export async function requireSight(
  context: Asking,
  workspaceId: string | null,
  details: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  if (!(await isInSight(context, workspaceId))) fail('not_found', details);
}

/** Those of these persons, whose sight is narrow, that do not see what is filed in a workspace; null is the tenant itself. */
export async function blindTo(
  db: Db,
  viewerIds: readonly string[],
  workspaceId: string | null,
): Promise<ReadonlySet<string>> {
  if (workspaceId === null || viewerIds.length === 0) return new Set();
  return new Set((await db.rows(findBlindViewers(viewerIds, workspaceId))).map(({ id }) => id));
}

/** Whether the caller sees a task, and what hangs on it. */
export async function isTaskInSight(context: Asking, taskId: string): Promise<boolean> {
  const viewer = await viewerOf(context);
  return viewer === null || (await context.db.row(seesTask(viewer, taskId)))?.sees === true;
}

/** Those of the tasks that the caller sees; who sees everything is asked nothing. */
export async function tasksInSight(
  context: Asking,
  taskIds: readonly string[],
): Promise<ReadonlySet<string>> {
  const viewer = await viewerOf(context);
  if (viewer === null || taskIds.length === 0) return new Set(taskIds);
  return new Set((await context.db.rows(findSeenTasks(viewer, taskIds))).map(({ id }) => id));
}

/** @throws Refusal `not_found` */
export async function requireSightOfTask(
  context: Asking,
  taskId: string,
  details: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  if (!(await isTaskInSight(context, taskId))) fail('not_found', details);
}

/** What may hang on a task, or be filed in a workspace itself: the task decides where there is one. @throws Refusal `not_found` */
export async function requireSightOfPlace(
  context: Asking,
  row: { readonly task_id: string | null; readonly workspace_id: string | null },
  details: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  if (row.task_id === null) await requireSight(context, row.workspace_id, details);
  else await requireSightOfTask(context, row.task_id, details);
}
