import { z } from 'zod';
import { type RowOf, wireMapper } from '@baton/kernel/database/row';
import { Description, DisplayName, TypeKey } from '@baton/values/keys';
import { FreeObject, type JsonObject, queryWordCharactersMax, Timestamp, Uuid } from '@baton/values/wire';
import { documentBytesMax } from '../../service/documents.ts';
import type { Tables } from '../../service/schema.ts';
import { PackageLink } from '../package-link.ts';

export const archivableStatuses = ['active', 'archived'] as const;
export const allowedChildTypesMax = 100;
export const anyChildType = '*';

/** A kind of workspace, and the types that its children may have. See docs/reference/workspaces.md#workspace-types. */
export const WorkspaceType = z
  .strictObject({
    id: Uuid,
    tenantId: Uuid,
    key: z.string(),
    displayName: z.string(),
    description: z.string(),
    fieldSchema: FreeObject,
    allowedChildTypes: z.array(z.string()),
    isSystem: z.boolean(),
    status: z.enum(archivableStatuses),
    version: z.int().positive(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
    package: PackageLink.nullable(),
  })
  .meta({ id: 'WorkspaceType' });
export type WorkspaceType = z.infer<typeof WorkspaceType>;

/** The body schema doesn't even check the type, so that a 422 can describe the error. */
const fieldSchema = z.unknown().meta({ type: 'object', 'x-maxBytes': documentBytesMax });
/** The number and form of the items are checked later, with their own error code. */
const allowedChildTypes = z
  .array(z.string().max(queryWordCharactersMax))
  .max(1000)
  .meta({ description: `Keys of workspace types, or * for any; at most ${allowedChildTypesMax}.` });

export const WorkspaceTypeRequest = z
  .strictObject({
    key: TypeKey,
    displayName: DisplayName,
    description: Description.default(''),
    fieldSchema: fieldSchema.default({}),
    allowedChildTypes: allowedChildTypes.default([anyChildType]),
  })
  .meta({ id: 'WorkspaceTypeRequest' });
export type WorkspaceTypeRequest = z.output<typeof WorkspaceTypeRequest>;

export const WorkspaceTypeChange = z
  .strictObject({
    displayName: DisplayName.nullish(),
    description: Description.nullish(),
    fieldSchema: fieldSchema.optional(),
    allowedChildTypes: allowedChildTypes.nullish(),
  })
  .meta({ id: 'WorkspaceTypeChange' });
export type WorkspaceTypeChange = z.output<typeof WorkspaceTypeChange>;

export type WorkspaceTypeRow = RowOf<
  Tables['workspace_types'],
  { field_schema: JsonObject; package: PackageLink | null }
>;

export const workspaceTypeOf = wireMapper<WorkspaceTypeRow>()(WorkspaceType, {});

/** Whether a workspace of one type may be a direct child of a workspace of the other type. */
export function allowsChild(
  parent: Pick<WorkspaceTypeRow, 'allowed_child_types'>,
  child: Pick<WorkspaceTypeRow, 'key'>,
): boolean {
  const allowed = parent.allowed_child_types;
  return allowed.includes(anyChildType) || allowed.includes(child.key);
}
