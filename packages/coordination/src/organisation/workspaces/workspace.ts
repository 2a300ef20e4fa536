import { z } from 'zod';
import { type RowOf, wireMapper } from '@baton/kernel/database/row';
import { Description, DisplayName, Slug, TypeKey } from '@baton/values/keys';
import { FreeObject, type JsonObject, Timestamp, Uuid } from '@baton/values/wire';
import { documentBytesMax } from '../../service/documents.ts';
import type { Tables } from '../../service/schema.ts';
import { archivableStatuses } from '../workspace-types/workspace-type.ts';

export const taskTypesMax = 100;
/** The maximum number of levels from a root to a leaf, inclusive. */
export const workspaceLevelsMax = 64;

/** A node in the tenant's tree of workspaces, in which work is organized. See docs/reference/workspaces.md#read. */
export const Workspace = z
  .strictObject({
    id: Uuid,
    tenantId: Uuid,
    parentId: Uuid.nullable(),
    typeId: Uuid,
    slug: z.string(),
    name: z.string(),
    description: z.string(),
    customFields: FreeObject,
    taskTypes: z
      .array(z.string())
      .nullable()
      .meta({ description: 'Keys of the allowed task types; `null` inherits those of the parent.' }),
    calendarKey: z
      .string()
      .nullable()
      .meta({
        description:
          'The calendar whose time zone determines when the dates of tasks begin; `null` inherits that of the ' +
          'parent, else UTC.',
      }),
    status: z.enum(archivableStatuses),
    version: z.int().positive(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  })
  .meta({ id: 'Workspace' });
export type Workspace = z.infer<typeof Workspace>;

/** A single workspace with its allowed task types; null allows all. */
export const WorkspaceDetail = Workspace.extend({
  effectiveTaskTypes: z.array(z.string()).nullable(),
}).meta({ id: 'WorkspaceDetail' });
export type WorkspaceDetail = z.infer<typeof WorkspaceDetail>;

/** The body schema doesn't even check the type, so that the 422 `invalid_document` can describe the error. */
const customFields = z.unknown().meta({ type: 'object', 'x-maxBytes': documentBytesMax });
const type = { typeId: Uuid.nullish(), typeKey: TypeKey.nullish() };

export const WorkspaceRequest = z
  .strictObject({
    slug: Slug,
    name: DisplayName,
    description: Description.default(''),
    parentId: Uuid.nullish(),
    ...type,
    customFields: customFields.default({}),
    calendarKey: TypeKey.nullish(),
  })
  .meta({ id: 'WorkspaceRequest' });
export type WorkspaceRequest = z.output<typeof WorkspaceRequest>;

export const WorkspaceChange = z
  .strictObject({
    name: DisplayName.nullish(),
    description: Description.nullish(),
    slug: Slug.nullish(),
    ...type,
    customFields: customFields.optional(),
    taskTypes: z
      .array(TypeKey)
      .max(taskTypesMax)
      .refine((keys) => new Set(keys).size === keys.length, 'must not contain duplicates')
      .nullish(),
    calendarKey: TypeKey.nullish(),
  })
  .meta({ id: 'WorkspaceChange' });
export type WorkspaceChange = z.output<typeof WorkspaceChange>;

export const WorkspaceMove = z
  .strictObject({ newParentId: Uuid.nullable() })
  .meta({ id: 'WorkspaceMove', description: '`null` makes the workspace a root.' });

/** A reason to refuse a move, in the form of the `:move` refusal. */
export const MoveViolations = z
  .strictObject({
    violations: z.array(z.strictObject({ code: z.string(), details: z.record(z.string(), z.unknown()) })),
  })
  .meta({ id: 'MoveViolations' });
export type MoveViolations = z.infer<typeof MoveViolations>;

/** The moved workspace; with dryRun, the reasons to refuse the move. */
export const MoveAnswer = z.union([WorkspaceDetail, MoveViolations]).meta({ id: 'MoveAnswer' });

export type WorkspaceRow = RowOf<Tables['workspaces'], { custom_fields: JsonObject }>;
/** A workspace with the task types allowed in it, and its parent if the caller may see it. */
export type WorkspaceDetailRow = WorkspaceRow & {
  effective_task_types: string[] | null;
  visible_parent_id: string | null;
};

export const workspaceOf = wireMapper<WorkspaceRow>()(Workspace, {});
export const workspaceDetailOf = wireMapper<WorkspaceDetailRow>()(WorkspaceDetail, {
  parentId: ({ visible_parent_id: parentId }) => parentId,
});
