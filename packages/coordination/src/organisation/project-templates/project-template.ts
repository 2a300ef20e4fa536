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

/** What projects of a kind are: their fields, their statuses, what counts for them at first (organisation, section 4.1). */
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

/** Of which not even the type is checked with the body: 422 says what is wrong with it, with its own code. */
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
      .meta({ description: 'Values that count where defaultConfig names no other.' }),
    memoryDefaults: document.default({}),
  })
  .meta({ id: 'NewProjectTemplate' });
export type NewProjectTemplate = z.output<typeof NewProjectTemplate>;

/** Which version of a template a project is made with: one by its id, or one of a key, the newest active one at first. */
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
