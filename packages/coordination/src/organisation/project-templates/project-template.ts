import { z } from 'zod';
import { type RowOf, wireMapper } from '@baton/kernel/database/row';
import { Description, DisplayName, TypeKey } from '@baton/values/keys';
import { FreeObject, type Json, type JsonObject, Timestamp, Uuid } from '@baton/values/wire';
import { documentBytesMax } from '../../service/documents.ts';
import type { Tables } from '../../service/schema.ts';
import { PackageLink } from '../package-link.ts';
import { type ConfigDocument, viewsMax } from '../projects/config/config-document.ts';
import type { Governance } from '../projects/config/governance.ts';
import { ProjectLifecycle } from './project-lifecycle.ts';

export const templateStatuses = ['active', 'deprecated'] as const;

/**
 * A kind of project: its fields, its statuses and its default configuration. See docs/reference/projects.md#templates.
 */
export const ProjectTemplate = z
  .strictObject({
    id: Uuid,
    tenantId: Uuid,
    key: z.string(),
    version: z.int(),
    displayName: z.string(),
    description: z.string(),
    fieldSchema: FreeObject,
    lifecycleSchema: ProjectLifecycle,
    defaultConfig: FreeObject,
    defaultViews: z.array(z.unknown()),
    governanceSchema: FreeObject,
    memoryDefaults: FreeObject,
    status: z.enum(templateStatuses),
    createdBy: Uuid,
    createdAt: Timestamp,
    updatedAt: Timestamp,
    package: PackageLink.nullable(),
  })
  .meta({ id: 'ProjectTemplate' });
export type ProjectTemplate = z.infer<typeof ProjectTemplate>;

/** The body schema doesn't even check the type, so that a 422 with its own code can describe the error. */
const document = z.unknown().meta({ type: 'object', 'x-maxBytes': documentBytesMax });

export const NewProjectTemplate = z
  .strictObject({
    key: TypeKey,
    displayName: DisplayName,
    description: Description.default(''),
    fieldSchema: document.default({}),
    lifecycleSchema: document.optional(),
    defaultConfig: document.default({}),
    defaultViews: z
      .array(z.unknown().meta({ 'x-maxBytes': documentBytesMax }))
      .max(1000)
      .default([])
      .meta({ description: `At most ${viewsMax}.` }),
    governanceSchema: document
      .default({})
      .meta({ description: 'Governance values that apply unless defaultConfig sets its own.' }),
    memoryDefaults: document.default({}),
  })
  .meta({ id: 'NewProjectTemplate' });
export type NewProjectTemplate = z.output<typeof NewProjectTemplate>;

/**
 * The template version for a new project: by its id, or by its key, which selects the newest active version unless a
 * version is specified.
 */
export const TemplateReference = {
  templateId: Uuid.nullish(),
  templateKey: TypeKey.nullish(),
  templateVersion: z.int().min(1).max(2_147_483_647).nullish(),
};
export interface TemplateNames {
  readonly templateId?: string | null | undefined;
  readonly templateKey?: string | null | undefined;
  readonly templateVersion?: number | null | undefined;
}

export type ProjectTemplateRow = RowOf<
  Tables['project_templates'],
  {
    package: PackageLink | null;
    field_schema: JsonObject;
    lifecycle_schema: ProjectLifecycle;
    default_config: ConfigDocument & JsonObject;
    default_views: Json[];
    governance_schema: Governance;
    memory_defaults: JsonObject;
  }
>;

export const projectTemplateOf = wireMapper<ProjectTemplateRow>()(ProjectTemplate, {});
