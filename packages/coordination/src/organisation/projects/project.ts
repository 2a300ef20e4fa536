import { z } from 'zod';
import { type RowOf, wireMapper } from '@baton/kernel/database/row';
import { DisplayName, Slug, TypeKey } from '@baton/values/keys';
import { FreeObject, InstantInput, type JsonObject, Timestamp, Uuid } from '@baton/values/wire';
import { documentBytesMax } from '../../service/documents.ts';
import type { Tables } from '../../service/schema.ts';
import {
  type ProjectCategory,
  projectCategories,
  StatusKey,
} from '../project-templates/project-lifecycle.ts';
import { TemplateReference } from '../project-templates/project-template.ts';
import { archivableStatuses } from '../workspace-types/workspace-type.ts';

export const commentCharactersMax = 1000;

/** The project of a workspace: its state, people and configuration. See docs/reference/projects.md#projects. */
export const Project = z
  .strictObject({
    id: Uuid,
    tenantId: Uuid,
    workspaceId: Uuid,
    templateId: Uuid,
    templateKey: z.string(),
    templateVersion: z.int(),
    statusKey: z.string(),
    systemStatusCategory: z.enum(projectCategories),
    ownerPrincipalId: Uuid.nullable(),
    startDate: Timestamp.nullable(),
    targetDate: Timestamp.nullable(),
    customFields: FreeObject,
    settings: FreeObject,
    activeConfigRevisionId: Uuid.nullable(),
    activeConfigRevision: z.int().nullable(),
    parentProjectId: Uuid.nullable().meta({
      description: 'The project of the nearest ancestor workspace that has one, if the caller may see it.',
    }),
    status: z.enum(archivableStatuses),
    version: z.int().positive(),
    createdBy: Uuid,
    createdAt: Timestamp,
    updatedAt: Timestamp,
    archivedAt: Timestamp.nullable(),
  })
  .meta({ id: 'Project' });
export type Project = z.infer<typeof Project>;

/** The body schema doesn't even check the type, so that the 422 `invalid_document` can describe the error. */
const document = z.unknown().meta({ type: 'object', 'x-maxBytes': documentBytesMax });

export const ProjectRequest = z
  .strictObject({
    workspaceId: Uuid.nullish(),
    workspaceSlug: Slug.nullish().meta({ description: 'Also creates a workspace with this slug.' }),
    workspaceName: DisplayName.nullish(),
    parentWorkspaceId: Uuid.nullish(),
    workspaceTypeKey: TypeKey.nullish(),
    ...TemplateReference,
    statusKey: StatusKey.nullish(),
    ownerPrincipalId: Uuid.nullish(),
    startDate: InstantInput.nullish(),
    targetDate: InstantInput.nullish(),
    customFields: document.default({}),
    settings: document.default({}),
  })
  .meta({ id: 'ProjectRequest' });
export type ProjectRequest = z.output<typeof ProjectRequest>;

export const ProjectChange = z
  .strictObject({
    ownerPrincipalId: Uuid.nullish(),
    clearOwner: z.boolean().nullish(),
    startDate: InstantInput.nullish(),
    targetDate: InstantInput.nullish(),
    customFields: document.optional(),
    settings: document.optional(),
    ...TemplateReference,
  })
  .meta({ id: 'ProjectChange' });
export type ProjectChange = z.output<typeof ProjectChange>;

export const ProjectTransition = z
  .strictObject({ statusKey: StatusKey, comment: z.string().max(commentCharactersMax).default('') })
  .meta({ id: 'ProjectTransition' });
export type ProjectTransition = z.output<typeof ProjectTransition>;

export type ProjectRow = RowOf<
  Tables['projects'],
  { custom_fields: JsonObject; settings: JsonObject; system_status_category: ProjectCategory }
>;
/** Includes the parent project if the caller may see it. */
export type PlacedProjectRow = ProjectRow & { parent_project_id: string | null };

export const projectOf = wireMapper<PlacedProjectRow>()(Project, {});
