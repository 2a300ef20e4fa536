import { z } from 'zod';
import { type RowOf, wireMapper } from '@baton/kernel/database/row';
import { FreeObject, type JsonObject, Timestamp, Uuid } from '@baton/values/wire';
import { documentBytesMax } from '../../service/documents.ts';
import type { Tables } from '../../service/schema.ts';
import type { ConfigDocument } from './config/config-document.ts';
import { commentCharactersMax } from './project.ts';

/** A numbered, immutable configuration of a project. See docs/reference/projects.md#revisions. */
export const ConfigRevision = z
  .strictObject({
    id: Uuid,
    tenantId: Uuid,
    projectId: Uuid,
    revision: z.int().positive(),
    config: FreeObject,
    validation: z
      .strictObject({
        templateId: Uuid,
        templateKey: z.string(),
        templateVersion: z.int(),
        checkedAt: Timestamp,
        governanceCeiling: FreeObject,
      })
      .meta({ description: 'The context against which the revision was validated.' }),
    comment: z.string(),
    createdBy: Uuid,
    createdAt: Timestamp,
    activatedAt: Timestamp.nullable().meta({ description: 'Time of the last activation.' }),
  })
  .meta({ id: 'ConfigRevision' });
export type ConfigRevision = z.infer<typeof ConfigRevision>;

export const ConfigRevisionRequest = z
  .strictObject({
    config: z.unknown().meta({ type: 'object', 'x-maxBytes': documentBytesMax }).default({}),
    comment: z.string().max(commentCharactersMax).default(''),
  })
  .meta({ id: 'ConfigRevisionRequest' });
export type ConfigRevisionRequest = z.output<typeof ConfigRevisionRequest>;

export type ConfigRevisionRow = RowOf<
  Tables['project_config_revisions'],
  { config: ConfigDocument & JsonObject; validation: ConfigRevision['validation'] }
>;

export const configRevisionOf = wireMapper<ConfigRevisionRow>()(ConfigRevision, {});
