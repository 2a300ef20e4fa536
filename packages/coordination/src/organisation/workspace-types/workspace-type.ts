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

/** What kind of workspace one is, and which kinds may stand below it (organisation, section 2.1). */
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

/** Of which not even the type is checked with the body: 422 says what is wrong with it. */
const fieldSchema = z.unknown().meta({ type: 'object', 'x-maxBytes': documentBytesMax });
/** How many there are and what each may be is checked later, with a code of its own. */
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

/** Whether a workspace of one type may have one of the other directly below it. */
export function allowsChild(
  parent: Pick<WorkspaceTypeRow, 'allowed_child_types'>,
  child: Pick<WorkspaceTypeRow, 'key'>,
): boolean {
  const allowed = parent.allowed_child_types;
  return allowed.includes(anyChildType) || allowed.includes(child.key);
}
