import { canonicalJson } from '@baton/values/canonical-json';
import { eventText } from '@baton/values/event-text';
import { emit } from '../../ledger/journal/journal.ts';
import { requireVersionOf } from '../../service/changes.ts';
import { requireCalendar } from '../calendars/calendars.ts';
import type { Context } from '../context.ts';
import { parseCustomFields } from '../custom-fields.ts';
import { fail } from '../errors.ts';
import { lockWorkspaceTree } from '../tree-lock.ts';
import { allowsChild, type WorkspaceTypeRow } from '../workspace-types/workspace-type.ts';
import { getWorkspaceTypeRow, resolveWorkspaceType } from '../workspace-types/workspace-types.ts';
import type { WorkspaceChange, WorkspaceDetail, WorkspaceRow } from './workspace.ts';
import { workspaceArchived, workspaceRestored, workspaceUpdated } from './workspaces.events.ts';
import {
  findActiveChildTypes,
  findActiveProject,
  findTaskTypeKeys,
  updateWorkspaceStatus,
  updateWorkspaceValues,
  type WorkspaceValues,
} from './workspaces.sql.ts';
import {
  getAnyWorkspaceRow,
  getWorkspaceRow,
  refuseForeignChild,
  refuseTakenSlug,
  requireAllowedChild,
  showWorkspace,
} from './workspaces.ts';

/**
 * Changes a workspace, even an archived one; values equal to the stored ones change nothing. See
 * docs/reference/workspaces.md#change.
 * @throws Refusal `not_found`, `version_conflict`, `workspace_slug_conflict`, `invalid_workspace_type`,
 * `workspace_type_archived`, `child_type_not_allowed`, `invalid_document`, `payload_too_large`, `payload_too_deep`,
 * `custom_fields_invalid`, `secret_material_rejected`, `unknown_task_type`, `empty_update`
 */
export async function updateWorkspace(
  context: Context,
  id: string,
  ifMatch: number,
  change: WorkspaceChange,
): Promise<WorkspaceDetail> {
  await lockWorkspaceTree(context);
  const before = await getWorkspaceRow(context, id);
  requireVersionOf('workspace', before, ifMatch);
  const slug = change.slug ?? before.slug;
  if (slug !== before.slug) await refuseTakenSlug(context, before.parent_id, slug);
  const namesType = change.typeId != null || change.typeKey != null;
  const type = namesType ? await resolveWorkspaceType(context, change) : undefined;
  if (type !== undefined && type.id !== before.type_id) await requireFittingType(context, before, type);
  const after: WorkspaceValues = {
    name: change.name ?? before.name,
    description: change.description ?? before.description,
    slug,
    type_id: type?.id ?? before.type_id,
    custom_fields: await customFieldsAfter(context, before, change, type),
    task_types: change.taskTypes === undefined ? before.task_types : change.taskTypes,
    calendar_key: change.calendarKey === undefined ? before.calendar_key : change.calendarKey,
  };
  if (change.calendarKey != null) await requireCalendar(context, change.calendarKey);
  if (change.taskTypes != null) await requireTaskTypes(context, change.taskTypes);
  if (Object.keys(change).length === 0) fail('empty_update');
  const changes = differences(before, after);
  if (Object.keys(changes).length === 0) return showWorkspace(context, id);
  const row = await context.db.row(updateWorkspaceValues(context.tenantId, id, after));
  if (row === undefined) throw new Error('a workspace disappeared under the tree lock');
  emit(context, workspaceUpdated, { entityId: id, workspaceId: id }, { changes, version: row.version });
  return showWorkspace(context, id);
}

/** A type is valid if the parent's type accepts it and it accepts the types of the active direct children. */
async function requireFittingType(
  context: Context,
  workspace: WorkspaceRow,
  type: WorkspaceTypeRow,
): Promise<void> {
  if (type.status === 'archived') fail('workspace_type_archived', { workspaceTypeId: type.id });
  if (workspace.parent_id !== null)
    await requireAllowedChild(context, await getAnyWorkspaceRow(context, workspace.parent_id), type);
  const below = await context.db.rows(findActiveChildTypes(context.tenantId, workspace.id));
  const foreign = below.find((child) => !allowsChild(type, child));
  if (foreign !== undefined) refuseForeignChild(type, foreign);
}

/** Unchanged fields are validated again when the type changes. */
async function customFieldsAfter(
  context: Context,
  before: WorkspaceRow,
  { customFields }: WorkspaceChange,
  type: WorkspaceTypeRow | undefined,
) {
  const isTyped = type !== undefined && type.id !== before.type_id;
  if (customFields === undefined && !isTyped) return before.custom_fields;
  const judge = type ?? (await getWorkspaceTypeRow(context, before.type_id));
  return parseCustomFields(customFields ?? before.custom_fields, judge.field_schema);
}

/** @throws Refusal `unknown_task_type` */
async function requireTaskTypes({ db, tenantId }: Context, keys: readonly string[]): Promise<void> {
  const known = new Set((await db.rows(findTaskTypeKeys(tenantId, keys))).map(({ key }) => key));
  const unknown = keys.findIndex((key) => !known.has(key));
  if (unknown >= 0) fail('unknown_task_type', { field: `taskTypes[${unknown}]`, taskType: keys[unknown] });
}

function differences(before: WorkspaceRow, after: WorkspaceValues): Record<string, string | true> {
  const changed = (column: keyof WorkspaceValues) =>
    canonicalJson(before[column]) !== canonicalJson(after[column]);
  return {
    ...(changed('name') && { name: eventText(after.name) }),
    ...(changed('description') && { description: eventText(after.description) }),
    ...(changed('slug') && { slug: after.slug }),
    ...(changed('type_id') && { typeId: after.type_id }),
    ...(changed('custom_fields') && { customFields: true as const }),
    ...(changed('task_types') && { taskTypes: true as const }),
    ...(changed('calendar_key') && { calendarKey: true as const }),
  };
}

/**
 * Archives a workspace that has no active children and no active project; repeating the request changes nothing. Its
 * tasks remain.
 * @throws Refusal `not_found`, `workspace_has_active_children`, `workspace_has_active_project`
 */
export async function archiveWorkspace(context: Context, id: string): Promise<WorkspaceDetail> {
  await lockWorkspaceTree(context);
  const workspace = await getWorkspaceRow(context, id);
  if (workspace.status === 'archived') return showWorkspace(context, id);
  const below = await context.db.rows(findActiveChildTypes(context.tenantId, id));
  const activeChildren = below.reduce((sum, { children }) => sum + children, 0);
  if (activeChildren > 0) fail('workspace_has_active_children', { workspaceId: id, activeChildren });
  const project = await context.db.row(findActiveProject(context.tenantId, id));
  if (project !== undefined) fail('workspace_has_active_project', { projectId: project.id });
  return moveTo(context, id, 'archived');
}

/**
 * Restores an archived workspace; repeating the request changes nothing.
 * @throws Refusal `not_found`, `workspace_archived` below an archived workspace, `workspace_type_archived`
 */
export async function restoreWorkspace(context: Context, id: string): Promise<WorkspaceDetail> {
  await lockWorkspaceTree(context);
  const workspace = await getWorkspaceRow(context, id);
  if (workspace.status === 'active') return showWorkspace(context, id);
  const { parent_id: parentId, type_id: typeId } = workspace;
  if (parentId !== null && (await getAnyWorkspaceRow(context, parentId)).status === 'archived')
    fail('workspace_archived', { workspaceId: parentId });
  if ((await getWorkspaceTypeRow(context, typeId)).status === 'archived')
    fail('workspace_type_archived', { workspaceTypeId: typeId });
  return moveTo(context, id, 'active');
}

async function moveTo(
  context: Context,
  id: string,
  status: WorkspaceRow['status'],
): Promise<WorkspaceDetail> {
  const row = await context.db.row(updateWorkspaceStatus(context.tenantId, id, status));
  if (row === undefined) throw new Error('a workspace disappeared under the tree lock');
  const event = status === 'archived' ? workspaceArchived : workspaceRestored;
  emit(context, event, { entityId: id, workspaceId: id }, { slug: row.slug });
  return showWorkspace(context, id);
}
