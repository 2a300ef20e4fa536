import { Refusal } from '@baton/kernel/http/refusal';
import { requireMayMove } from '../../access/policy/filed-in.ts';
import { emit } from '../../ledger/journal/journal.ts';
import { requireVersionOf } from '../../service/changes.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { requireMovable } from '../projects/config/layers.ts';
import { lockWorkspaceTree } from '../tree-lock.ts';
import { getWorkspaceTypeRow } from '../workspace-types/workspace-types.ts';
import type { MoveViolations, WorkspaceDetail, WorkspaceRow } from './workspace.ts';
import { workspaceMoved } from './workspaces.events.ts';
import { changeOffersBelow, findArchivedProjects, findLevelsBelow, updateParent } from './workspaces.sql.ts';
import {
  getAnyWorkspaceRow,
  getWorkspaceRow,
  refuseTakenSlug,
  requireAllowedChild,
  requirePlace,
  showWorkspace,
} from './workspaces.ts';

export interface MoveRequest {
  readonly newParentId: string | null;
  /** Undefined when If-Match contains no version. */
  readonly ifMatch: number | undefined;
}

/**
 * Moves a workspace with its descendants; a move to its current parent changes nothing. See
 * docs/reference/workspaces.md#move.
 * @throws Refusal `not_found`, `version_conflict`, `permission_denied`, `workspace_cycle`, `workspace_archived`,
 * `workspace_too_deep`, `workspace_slug_conflict`, `child_type_not_allowed`, `governance_weakened`, `setting_locked`
 */
export async function moveWorkspace(
  context: Context,
  id: string,
  request: MoveRequest,
): Promise<WorkspaceDetail> {
  const { workspace, parent, rules } = await plan(context, id, request);
  if (isThere(workspace, request)) return showWorkspace(context, id);
  for (const rule of rules) await rule();
  const from = workspace.parent_id;
  const to = request.newParentId;
  const projects = { from: await projectAbove(context, workspace), to: parent?.project_id ?? null };
  const pathAbove = parent?.path ?? [];
  const place = { parentId: to, pathAbove, depth: workspace.path.length - 1, projects };
  await context.db.run(updateParent(context.tenantId, id, place));
  await offerAnew(context, id, projects);
  emit(context, workspaceMoved, { entityId: id, workspaceId: id }, { fromParentId: from, toParentId: to });
  return showWorkspace(context, id);
}

/** The nearest project above a workspace. */
async function projectAbove(context: Context, { parent_id: parentId }: WorkspaceRow): Promise<string | null> {
  return parentId === null ? null : (await getAnyWorkspaceRow(context, parentId)).project_id;
}

/**
 * Tasks without a project of their own become available after the move, unless the project at the new parent is
 * archived.
 */
async function offerAnew(
  { db, tenantId }: Context,
  workspaceId: string,
  { from, to }: { from: string | null; to: string | null },
): Promise<void> {
  const ids = [from, to].filter((id) => id !== null);
  if (from === to || ids.length === 0) return;
  const archived = new Set((await db.rows(findArchivedProjects(tenantId, ids))).map(({ id }) => id));
  const isArchived = (id: string | null) => id !== null && archived.has(id);
  if (isArchived(from) === isArchived(to)) return;
  const change = { projectId: to, isOffered: !isArchived(to) };
  await db.run(changeOffersBelow(tenantId, workspaceId, change));
}

/**
 * Returns every reason to refuse the move now; writes nothing.
 * @throws Refusal `not_found`, `version_conflict`
 */
export async function previewMove(
  context: Context,
  id: string,
  request: MoveRequest,
): Promise<MoveViolations> {
  const { workspace, rules } = await plan(context, id, request);
  if (isThere(workspace, request)) return { violations: [] };
  const violations: MoveViolations['violations'] = [];
  for (const rule of rules) {
    try {
      await rule();
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      violations.push({ code: error.code, details: { ...error.details } });
    }
  }
  return { violations };
}

function isThere(
  { parent_id: parentId }: WorkspaceRow,
  { newParentId }: Pick<MoveRequest, 'newParentId'>,
): boolean {
  return parentId === newParentId;
}

/** What is moved, where it is moved to, and the rules for the move, in the order of the refusals. */
async function plan(context: Context, id: string, { newParentId, ifMatch }: MoveRequest) {
  await lockWorkspaceTree(context);
  const workspace = await getWorkspaceRow(context, id);
  if (ifMatch !== undefined) requireVersionOf('workspace', workspace, ifMatch);
  const parent = newParentId === null ? undefined : await getWorkspaceRow(context, newParentId);
  if (!isThere(workspace, { newParentId }))
    await requireMayMove(context, 'workspaces.manage', workspace.parent_id, newParentId);
  const rules: (() => Promise<unknown>)[] = [
    async () => refuseSelf(workspace, parent),
    async () => requirePlace(parent, await levelsBelow(context, workspace)),
    async () => refuseDescendant(workspace, parent),
    () => refuseTakenSlug(context, newParentId, workspace.slug),
    async () =>
      parent && requireAllowedChild(context, parent, await getWorkspaceTypeRow(context, workspace.type_id)),
    () => requireMovable(context, id, newParentId, 'governance'),
    () => requireMovable(context, id, newParentId, 'settings'),
  ];
  return { workspace, parent, rules };
}

function refuseSelf({ id }: WorkspaceRow, parent: WorkspaceRow | undefined): void {
  if (parent?.id === id) fail('workspace_cycle', { workspaceId: id, newParentId: id });
}

function refuseDescendant({ id }: WorkspaceRow, parent: WorkspaceRow | undefined): void {
  if (parent !== undefined && parent.id !== id && parent.path.includes(id))
    fail('workspace_cycle', { workspaceId: id, newParentId: parent.id });
}

async function levelsBelow({ db, tenantId }: Context, { id, path }: WorkspaceRow): Promise<number> {
  return (await db.row(findLevelsBelow(tenantId, id, path.length)))?.levels ?? 0;
}
