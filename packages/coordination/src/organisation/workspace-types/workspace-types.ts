import { type ItemPage, listPage } from '@baton/kernel/database/list';
import type { Page } from '@baton/kernel/http/paging';
import { canonicalJson } from '@baton/values/canonical-json';
import { eventText } from '@baton/values/event-text';
import { newId } from '@baton/values/ids';
import type { JsonObject } from '@baton/values/wire';
import { emit } from '../../ledger/journal/journal.ts';
import { requireVersionOf } from '../../service/changes.ts';
import { checkStoredSchema } from '../../service/stored-schema.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { lockWorkspaceTree } from '../tree-lock.ts';
import {
  allowedChildTypesMax,
  anyChildType,
  archivableStatuses,
  type WorkspaceType,
  type WorkspaceTypeChange,
  type WorkspaceTypeRequest,
  type WorkspaceTypeRow,
  workspaceTypeOf,
} from './workspace-type.ts';
import {
  workspaceTypeArchived,
  workspaceTypeCreated,
  workspaceTypeRestored,
  workspaceTypeUpdated,
} from './workspace-types.events.ts';
import {
  countActiveWorkspaces,
  findSystemWorkspaceType,
  findWorkspaceType,
  findWorkspaceTypeByKey,
  findWorkspaceTypes,
  insertWorkspaceType,
  updateWorkspaceTypeStatus,
  updateWorkspaceTypeValues,
  type WorkspaceTypeValues,
} from './workspace-types.sql.ts';

/**
 * Creates a workspace type. See docs/reference/workspaces.md#workspace-types.
 * @throws Refusal `invalid_document`, `payload_too_large`, `payload_too_deep`, `invalid_json_schema`,
 * `secret_material_rejected`, `invalid_workspace_type`, `workspace_type_exists`
 */
export async function createWorkspaceType(
  context: Context,
  request: WorkspaceTypeRequest,
): Promise<WorkspaceType> {
  const { db, tenantId } = context;
  const { key, displayName, description } = request;
  const fieldSchema = parseFieldSchema(request.fieldSchema);
  const allowedChildTypes = parseChildTypes(request.allowedChildTypes);
  await lockWorkspaceTree(context);
  const values = { displayName, description, fieldSchema, allowedChildTypes };
  const row = await db.row(insertWorkspaceType({ ...values, id: newId(), tenantId, key }));
  if (row === undefined) return fail('workspace_type_exists', { key });
  emit(
    context,
    workspaceTypeCreated,
    { entityId: row.id },
    { key, displayName: eventText(displayName), allowedChildTypes },
  );
  return workspaceTypeOf(row);
}

/** @throws Refusal `invalid_status`, `invalid_cursor` */
export async function listWorkspaceTypes(
  { db, tenantId }: Context,
  query: { status?: string | undefined; package?: string | undefined },
  page: Page,
): Promise<ItemPage<WorkspaceType>> {
  const status = parseArchivableStatus(query.status);
  const found = findWorkspaceTypes(tenantId, { status, package_key: query.package }, page);
  return listPage(db, found, workspaceTypeOf);
}

/** @throws Refusal `invalid_status` */
export function parseArchivableStatus(status: string | undefined): string | undefined {
  if (status === undefined || archivableStatuses.some((known) => known === status)) return status;
  return fail('invalid_status', { allowed: archivableStatuses });
}

/** @throws Refusal `not_found` */
export async function getWorkspaceType(context: Context, id: string): Promise<WorkspaceType> {
  return workspaceTypeOf(await getWorkspaceTypeRow(context, id));
}

/** @throws Refusal `not_found` */
export async function getWorkspaceTypeRow({ db, tenantId }: Context, id: string): Promise<WorkspaceTypeRow> {
  return (await db.row(findWorkspaceType(tenantId, id))) ?? fail('not_found', { workspaceTypeId: id });
}

/**
 * The type that a workspace specifies by id or by key, or the tenant's system type. @throws Refusal
 * `invalid_workspace_type` when both are sent, `not_found`
 */
export async function resolveWorkspaceType(
  context: Context,
  { typeId, typeKey }: { typeId?: string | null | undefined; typeKey?: string | null | undefined },
): Promise<WorkspaceTypeRow> {
  if (typeId != null && typeKey != null)
    return fail('invalid_workspace_type', { fields: ['typeId', 'typeKey'] });
  if (typeId != null) return getWorkspaceTypeRow(context, typeId);
  const { db, tenantId } = context;
  if (typeKey != null)
    return (
      (await db.row(findWorkspaceTypeByKey(tenantId, typeKey))) ??
      fail('not_found', { workspaceTypeKey: typeKey })
    );
  const system = await db.row(findSystemWorkspaceType(tenantId));
  if (system === undefined) throw new Error('the tenant has no system workspace type');
  return system;
}

/**
 * Changes a workspace type; values equal to the stored ones change nothing.
 * @throws Refusal `not_found`, `version_conflict`, those of create, `system_type_immutable`, `empty_update`
 */
export async function updateWorkspaceType(
  context: Context,
  id: string,
  ifMatch: number,
  change: WorkspaceTypeChange,
): Promise<WorkspaceType> {
  await lockWorkspaceTree(context);
  const before = await getWorkspaceTypeRow(context, id);
  requireVersionOf('workspace_type', before, ifMatch);
  const after: WorkspaceTypeValues = {
    displayName: change.displayName ?? before.display_name,
    description: change.description ?? before.description,
    fieldSchema:
      change.fieldSchema === undefined ? before.field_schema : parseFieldSchema(change.fieldSchema),
    allowedChildTypes:
      change.allowedChildTypes == null
        ? before.allowed_child_types
        : parseChildTypes(change.allowedChildTypes),
  };
  if (before.is_system && !after.allowedChildTypes.includes(anyChildType))
    fail('system_type_immutable', { workspaceTypeId: id });
  if (Object.keys(change).length === 0) fail('empty_update');
  const changes = differences(before, after);
  if (Object.keys(changes).length === 0) return workspaceTypeOf(before);
  const row = await context.db.row(updateWorkspaceTypeValues(context.tenantId, id, after));
  if (row === undefined) throw new Error('a workspace type disappeared under the tree lock');
  emit(context, workspaceTypeUpdated, { entityId: id }, { changes, version: row.version });
  return workspaceTypeOf(row);
}

function differences(before: WorkspaceTypeRow, after: WorkspaceTypeValues) {
  const changes: Record<string, string | string[] | true> = {};
  if (after.displayName !== before.display_name) changes['displayName'] = eventText(after.displayName);
  if (after.description !== before.description) changes['description'] = eventText(after.description);
  if (canonicalJson(after.fieldSchema) !== canonicalJson(before.field_schema)) changes['fieldSchema'] = true;
  if (canonicalJson(after.allowedChildTypes) !== canonicalJson(before.allowed_child_types))
    changes['allowedChildTypes'] = [...after.allowedChildTypes];
  return changes;
}

/**
 * Archives a workspace type that no active workspace uses; repeating the request changes nothing.
 * @throws Refusal `not_found`, `system_type_immutable`, `workspace_type_in_use`
 */
export async function archiveWorkspaceType(context: Context, id: string): Promise<WorkspaceType> {
  const { db, tenantId } = context;
  await lockWorkspaceTree(context);
  const type = await getWorkspaceTypeRow(context, id);
  if (type.is_system) fail('system_type_immutable', { workspaceTypeId: id });
  if (type.status === 'archived') return workspaceTypeOf(type);
  const activeWorkspaces = (await db.row(countActiveWorkspaces(tenantId, id)))?.workspaces ?? 0;
  if (activeWorkspaces > 0) fail('workspace_type_in_use', { workspaceTypeId: id, activeWorkspaces });
  return moveTo(context, id, 'archived');
}

/** Restores an archived type; repeating the request changes nothing. @throws Refusal `not_found` */
export async function restoreWorkspaceType(context: Context, id: string): Promise<WorkspaceType> {
  await lockWorkspaceTree(context);
  const type = await getWorkspaceTypeRow(context, id);
  return type.status === 'active' ? workspaceTypeOf(type) : moveTo(context, id, 'active');
}

async function moveTo(
  context: Context,
  id: string,
  status: WorkspaceTypeRow['status'],
): Promise<WorkspaceType> {
  const row = await context.db.row(updateWorkspaceTypeStatus(context.tenantId, id, status));
  if (row === undefined) throw new Error('a workspace type disappeared under the tree lock');
  const event = status === 'archived' ? workspaceTypeArchived : workspaceTypeRestored;
  emit(context, event, { entityId: id }, { key: row.key });
  return workspaceTypeOf(row);
}

function parseFieldSchema(schema: unknown): JsonObject {
  checkStoredSchema(schema, { field: 'fieldSchema' });
  return schema;
}

function parseChildTypes(keys: readonly string[]): string[] {
  const field = 'allowedChildTypes';
  if (keys.length > allowedChildTypesMax)
    fail('invalid_workspace_type', { field, maxItems: allowedChildTypesMax });
  const wrong = keys.findIndex((key) => key !== anyChildType && !/^[a-z0-9][a-z0-9_-]{0,62}$/.test(key));
  if (wrong >= 0) fail('invalid_workspace_type', { field: `${field}[${wrong}]` });
  return [...new Set(keys)];
}
