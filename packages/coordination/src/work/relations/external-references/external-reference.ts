import { z } from 'zod';
import { type RowOf, wireMapper } from '@baton/kernel/database/row';
import {
  FreeObject,
  type JsonObject,
  pageOf,
  queryWordCharactersMax,
  Timestamp,
  Uuid,
} from '@baton/values/wire';
import { documentBytesMax } from '../../../service/documents.ts';
import type { Tables } from '../../../service/schema.ts';

/** The objects that can have an external name. */
export const entityTypes = ['project', 'task'] as const;
export const externalTextCharactersMax = 512;

/** The name of an object in another system (docs/reference/tasks.md#external-references). */
export const ExternalReference = z
  .strictObject({
    id: Uuid,
    tenantId: Uuid,
    entityType: z.enum(entityTypes),
    entityId: Uuid,
    externalSystem: z.string(),
    externalType: z.string(),
    externalId: z.string(),
    metadata: FreeObject,
    version: z.int().positive(),
    createdBy: Uuid,
    createdAt: Timestamp,
    updatedAt: Timestamp,
  })
  .meta({ id: 'ExternalReference' });
export type ExternalReference = z.infer<typeof ExternalReference>;

export const ExternalReferencePage = pageOf(ExternalReference);

/** A schema limit above the fields' own limits, because exceeding those has its own error codes. */
const word = z.string().max(queryWordCharactersMax);

export const ExternalReferenceRequest = z
  .strictObject({
    entityType: word,
    entityId: word.meta({ description: 'A UUID; of a task also its public id.' }),
    externalSystem: word,
    externalType: word,
    externalId: word,
    /** Validated by the verb and not with the body, so that 422 `invalid_document` can describe the error. */
    metadata: z.unknown().meta({ type: 'object', 'x-maxBytes': documentBytesMax }).default({}),
  })
  .meta({ id: 'ExternalReferenceRequest' });
export type ExternalReferenceRequest = z.output<typeof ExternalReferenceRequest>;

/** The same request for a project, which the path specifies. */
export const ProjectReferenceRequest = ExternalReferenceRequest.omit({
  entityType: true,
  entityId: true,
}).meta({
  id: 'ProjectReferenceRequest',
});

/** The name in the other system: unique in a tenant. */
export type ExternalName = Pick<ExternalReference, 'externalSystem' | 'externalType' | 'externalId'>;

export type ExternalReferenceRow = RowOf<
  Tables['external_references'],
  { entity_type: (typeof entityTypes)[number]; metadata: JsonObject }
>;

export const externalReferenceOf = wireMapper<ExternalReferenceRow>()(ExternalReference, {});
