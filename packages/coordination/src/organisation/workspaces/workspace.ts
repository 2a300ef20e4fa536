import { z } from 'zod';
import { type RowOf, wireMapper } from '@baton/kernel/database/row';
import { Description, DisplayName, Slug, TypeKey } from '@baton/values/keys';
import { FreeObject, type JsonObject, Timestamp, Uuid } from '@baton/values/wire';
import { documentBytesMax } from '../../service/documents.ts';
import type { Tables } from '../../service/schema.ts';
import { archivableStatuses } from '../workspace-types/workspace-type.ts';

export const taskTypesMax = 100;
/** From a root to a leaf, both counted. */
export const workspaceLevelsMax = 64;

/** A place in the tenant's tree that work is filed in (organisation, section 3.1). */
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
      .meta({ description: 'Keys of the task types that are allowed; null: those of the workspace above.' }),
    calendarKey: z.string().nullable().meta({
      description:
        'The calendar in whose time zone dates of tasks begin; null: that of the workspace above, else UTC.',
    }),
    status: z.enum(archivableStatuses),
    version: z.int().positive(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  })
  .meta({ id: 'Workspace' });
export type Workspace = z.infer<typeof Workspace>;

/** One workspace alone: with the task types that are allowed in it; null: all. */
export const WorkspaceDetail = Workspace.extend({
  effectiveTaskTypes: z.array(z.string()).nullable(),
}).meta({ id: 'WorkspaceDetail' });
export type WorkspaceDetail = z.infer<typeof WorkspaceDetail>;

/** Of which not even the type is checked with the body: 422 `invalid_document` says what is wrong with it. */
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
      .refine((keys) => new Set(keys).size === keys.length, 'must name each only once')
      .nullish(),
    calendarKey: TypeKey.nullish(),
  })
  .meta({ id: 'WorkspaceChange' });
export type WorkspaceChange = z.output<typeof WorkspaceChange>;

export const WorkspaceMove = z
  .strictObject({ newParentId: Uuid.nullable() })
  .meta({ id: 'WorkspaceMove', description: 'null makes it a root.' });

/** Why a move would be refused, as `:move` itself would say it. */
export const MoveViolations = z
  .strictObject({
    violations: z.array(z.strictObject({ code: z.string(), details: z.record(z.string(), z.unknown()) })),
  })
  .meta({ id: 'MoveViolations' });
export type MoveViolations = z.infer<typeof MoveViolations>;

/** The workspace where it stands now; with dryRun what would refuse the move. */
export const MoveAnswer = z.union([WorkspaceDetail, MoveViolations]).meta({ id: 'MoveAnswer' });

export type WorkspaceRow = RowOf<Tables['workspaces'], { custom_fields: JsonObject }>;
/** A workspace with the task types that are allowed in it, and its parent where the caller sees it. */
export type WorkspaceDetailRow = WorkspaceRow & {
  effective_task_types: string[] | null;
  visible_parent_id: string | null;
};

export const workspaceOf = wireMapper<WorkspaceRow>()(Workspace, {});
export const workspaceDetailOf = wireMapper<WorkspaceDetailRow>()(WorkspaceDetail, {
  parentId: ({ visible_parent_id: parentId }) => parentId,
});
