import { type ItemPage, listPage } from '@baton/kernel/database/list';
import type { Page } from '@baton/kernel/http/paging';
import { eventText } from '@baton/values/event-text';
import { newId } from '@baton/values/ids';
import { requireMayFile } from '../../access/policy/filed-in.ts';
import { emit } from '../../ledger/journal/journal.ts';
import { listSeen } from '../../service/sight/seen-list.ts';
import { isInSight, requireSight, viewerOf } from '../../service/sight/sight.ts';
import { requireCalendar } from '../calendars/calendars.ts';
import type { Context } from '../context.ts';
import { parseCustomFields } from '../custom-fields.ts';
import { fail } from '../errors.ts';
import { holdWorkspaceTree, lockWorkspaceTree } from '../tree-lock.ts';
import { allowsChild, type WorkspaceTypeRow } from '../workspace-types/workspace-type.ts';
import {
  getWorkspaceTypeRow,
  parseArchivableStatus,
  resolveWorkspaceType,
} from '../workspace-types/workspace-types.ts';
import {
  type Workspace,
  type WorkspaceDetail,
  type WorkspaceDetailRow,
  type WorkspaceRequest,
  type WorkspaceRow,
  workspaceDetailOf,
  workspaceLevelsMax,
  workspaceOf,
} from './workspace.ts';
import { workspaceCreated } from './workspaces.events.ts';
import {
  findSibling,
  findTopWorkspaces,
  findWorkspace,
  findWorkspaceDetail,
  findWorkspaces,
  insertWorkspace,
  listOfWorkspaces,
} from './workspaces.sql.ts';

/** A workspace that the caller may see. @throws Refusal `not_found` */
export async function getWorkspaceRow(context: Context, id: string): Promise<WorkspaceRow> {
  await requireSight(context, id, { workspaceId: id });
  return getAnyWorkspaceRow(context, id);
}

/** Includes workspaces that the caller may not see, for rules of the tree. @throws Refusal `not_found` */
export async function getAnyWorkspaceRow({ db, tenantId }: Context, id: string): Promise<WorkspaceRow> {
  return (await db.row(findWorkspace(tenantId, id))) ?? fail('not_found', { workspaceId: id });
}

/**
 * Finds a workspace to which this command adds an object, and locks it so that it isn't archived, moved or given
 * another type.
 * @throws Refusal `not_found`, `workspace_archived`
 */
export async function enterWorkspace(context: Context, id: string): Promise<WorkspaceDetailRow> {
  await holdWorkspaceTree(context);
  await requireSight(context, id, { workspaceId: id });
  const workspace = await getDetailRow(context, id);
  if (workspace.status === 'archived') fail('workspace_archived', { workspaceId: id });
  return workspace;
}

/** @throws Refusal `not_found` */
export async function getWorkspace(context: Context, id: string): Promise<WorkspaceDetail> {
  await requireSight(context, id, { workspaceId: id });
  return showWorkspace(context, id);
}

/** The response of a command, even if the command has removed the workspace from the caller's own view. */
export async function showWorkspace(context: Context, id: string): Promise<WorkspaceDetail> {
  return workspaceDetailOf(await getDetailRow(context, id));
}

async function getDetailRow(context: Context, id: string): Promise<WorkspaceDetailRow> {
  const { db, tenantId } = context;
  const found = await db.row(findWorkspaceDetail(tenantId, await viewerOf(context), id));
  return found ?? fail('not_found', { workspaceId: id });
}

/**
 * Creates a workspace. See docs/reference/workspaces.md#create.
 * @throws Refusal `not_found`, `permission_denied`, `workspace_archived`, `workspace_too_deep`,
 * `workspace_slug_conflict`, `invalid_workspace_type`, `workspace_type_archived`, `child_type_not_allowed`,
 * `invalid_document`, `payload_too_large`, `payload_too_deep`, `custom_fields_invalid`, `secret_material_rejected`
 */
export async function createWorkspace(context: Context, request: WorkspaceRequest): Promise<WorkspaceDetail> {
  const { db, tenantId } = context;
  await lockWorkspaceTree(context);
  const parent = request.parentId == null ? undefined : await getWorkspaceRow(context, request.parentId);
  await requireMayFile(context, 'workspaces.manage', parent?.id ?? null);
  const { slug, name, description } = request;
  const pathAbove = requirePlace(parent);
  await refuseTakenSlug(context, parent?.id ?? null, slug);
  const type = await resolveWorkspaceType(context, request);
  if (type.status === 'archived') fail('workspace_type_archived', { workspaceTypeId: type.id });
  if (parent !== undefined) await requireAllowedChild(context, parent, type);
  const customFields = parseCustomFields(request.customFields, type.field_schema);
  const calendarKey = request.calendarKey ?? null;
  if (calendarKey !== null) await requireCalendar(context, calendarKey);
  const id = newId();
  const projectId = parent?.project_id ?? null;
  const place = { id, tenantId, parentId: parent?.id ?? null, path: [...pathAbove, id], projectId };
  const values = { typeId: type.id, slug, name, description, customFields, calendarKey };
  await db.run(insertWorkspace({ ...place, ...values }));
  emit(
    context,
    workspaceCreated,
    { entityId: id, workspaceId: id },
    { slug, name: eventText(name), parentId: place.parentId, typeKey: type.key },
  );
  return showWorkspace(context, id);
}

/**
 * @param parent undefined for a root
 * @returns the ids of the new ancestors
 * @throws Refusal `workspace_archived`, `workspace_too_deep`
 */
export function requirePlace(parent: WorkspaceRow | undefined, levelsBelow = 0): readonly string[] {
  if (parent === undefined) return [];
  if (parent.status === 'archived') fail('workspace_archived', { workspaceId: parent.id });
  if (parent.path.length + 1 + levelsBelow > workspaceLevelsMax)
    fail('workspace_too_deep', { maxLevels: workspaceLevelsMax });
  return parent.path;
}

/** @throws Refusal `workspace_slug_conflict` */
export async function refuseTakenSlug(
  { db, tenantId }: Context,
  parentId: string | null,
  slug: string,
): Promise<void> {
  if ((await db.row(findSibling(tenantId, parentId, slug))) !== undefined)
    fail('workspace_slug_conflict', { slug });
}

/** @throws Refusal `child_type_not_allowed` */
export async function requireAllowedChild(
  context: Context,
  parent: WorkspaceRow,
  childType: WorkspaceTypeRow,
): Promise<void> {
  refuseForeignChild(await getWorkspaceTypeRow(context, parent.type_id), childType);
}

/** @throws Refusal `child_type_not_allowed` */
export function refuseForeignChild(
  parentType: WorkspaceTypeRow,
  childType: Pick<WorkspaceTypeRow, 'key'>,
): void {
  if (allowsChild(parentType, childType)) return;
  fail('child_type_not_allowed', {
    parentTypeKey: parentType.key,
    childTypeKey: childType.key,
    allowedChildTypes: parentType.allowed_child_types,
  });
}

/** A page of workspaces; `parentId` overrides `rootsOnly`. @throws Refusal `invalid_status`, `invalid_cursor` */
export async function listWorkspaces(
  context: Context,
  query: { parentId?: string | undefined; rootsOnly?: boolean | undefined; status?: string | undefined },
  page: Page,
): Promise<ItemPage<Workspace>> {
  const status = parseArchivableStatus(query.status);
  const parentId = query.parentId ?? (query.rootsOnly === true ? null : undefined);
  const viewerId = await viewerOf(context);
  const { db, tenantId } = context;
  if (viewerId === null || typeof parentId === 'string') {
    const found = findWorkspaces(tenantId, { status, parentId }, page);
    if (parentId != null && !(await isInSight(context, parentId))) return { items: [], nextCursor: null };
    return listPage(db, found, workspaceOf);
  }
  if (parentId === null)
    return listPage(db, findTopWorkspaces(tenantId, status, viewerId, page), workspaceOf);
  return listSeen(db, viewerId, listOfWorkspaces(tenantId, status, viewerId), page, workspaceOf);
}
