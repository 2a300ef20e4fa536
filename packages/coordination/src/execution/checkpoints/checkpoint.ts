import { z } from 'zod';
import { type RowOf, wireMapper } from '@baton/kernel/database/row';
import { FreeObject, type JsonObject, queryWordCharactersMax, Timestamp, Uuid } from '@baton/values/wire';
import { documentBytesMax } from '../../service/documents.ts';
import type { Tables } from '../../service/schema.ts';

/** Progress saved by an executor, for the next one (docs/reference/actions-and-usage.md#checkpoints). */
export const Checkpoint = z
  .strictObject({
    id: Uuid,
    tenantId: Uuid,
    runId: Uuid,
    taskId: Uuid,
    createdByPrincipalId: Uuid,
    seq: z.int().positive(),
    kind: z.string(),
    data: FreeObject,
    createdAt: Timestamp,
  })
  .meta({ id: 'Checkpoint' });
export type Checkpoint = z.infer<typeof Checkpoint>;

export const CheckpointRequest = z
  .strictObject({
    kind: z.string().max(queryWordCharactersMax).meta({ description: '1 to 100 characters.' }),
    data: z.unknown().default({}).meta({ type: 'object', 'x-maxBytes': documentBytesMax }),
  })
  .meta({ id: 'CheckpointRequest' });
export type CheckpointRequest = z.output<typeof CheckpointRequest>;

export type CheckpointRow = RowOf<Tables['checkpoints'], { data: JsonObject }>;

export const checkpointOf = wireMapper<CheckpointRow>()(Checkpoint, {});
