import { z } from 'zod';
import { type RowOf, wireMapper } from '@baton/kernel/database/row';
import { FreeObject, type JsonObject, QueryWord, Timestamp, Uuid } from '@baton/values/wire';
import { documentBytesMax } from '../../service/documents.ts';
import type { Tables } from '../../service/schema.ts';
import { TaskRef } from '../../work/tasks/task-ref.ts';

export const contentStates = ['none', 'stored', 'purged'] as const;
/** Artifacts of these types record the core's own findings; only the core creates them. */
export const coreTypes: readonly string[] = ['verification', 'skill_result'];

/** A result: an immutable record, and optional bytes that can be purged. See docs/reference/artifacts.md. */
export const Artifact = z
  .strictObject({
    id: Uuid,
    tenantId: Uuid,
    createdByPrincipalId: Uuid,
    workspaceId: Uuid.nullable(),
    taskId: Uuid.nullable(),
    runId: Uuid.nullable(),
    type: z.string(),
    name: z.string(),
    uri: z.string().nullable(),
    content: FreeObject.nullable(),
    supersedesArtifactId: Uuid.nullable(),
    metadata: FreeObject,
    contentState: z.enum(contentStates),
    sizeBytes: z.int().nullable(),
    mediaType: z.string().nullable(),
    sha256: z.string().nullable().meta({ description: 'Digest of the stored bytes, 64 hexadecimal digits.' }),
    typeVersion: z
      .int()
      .nullable()
      .meta({ description: 'The version of the registered type against which the record was validated.' }),
    createdAt: Timestamp,
  })
  .meta({ id: 'Artifact' });
export type Artifact = z.infer<typeof Artifact>;

/** The body schema doesn't even check the type, so that the 422 `invalid_document` can describe the error. */
const document = z.unknown().meta({ type: 'object', 'x-maxBytes': documentBytesMax });

export const NewArtifact = z
  .strictObject({
    type: QueryWord.meta({ description: '1 to 200 characters.' }),
    name: QueryWord.meta({ description: '1 to 500 characters.' }),
    task: TaskRef.nullish(),
    runId: Uuid.nullish(),
    workspaceId: Uuid.nullish(),
    uri: z.string().max(2000).nullish(),
    content: document.nullish(),
    contentRef: z.string().min(1).max(100).nullish().meta({ description: 'Reference to uploaded bytes.' }),
    metadata: document.default({}),
    supersedesArtifactId: Uuid.nullish(),
  })
  .meta({ id: 'NewArtifact' });
export type NewArtifact = z.output<typeof NewArtifact>;

export type ArtifactRow = RowOf<Tables['artifacts'], { content: JsonObject | null; metadata: JsonObject }>;

export const artifactOf = wireMapper<ArtifactRow>()(Artifact, {
  createdByPrincipalId: (row) => row.created_by,
});
