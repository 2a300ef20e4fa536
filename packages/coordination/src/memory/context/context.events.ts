import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Timestamp, Uuid } from '@baton/values/wire';
import { asOfModes } from './context-pack.ts';

const count = z.int().nonnegative();

/** How much context an executor received, never its content. */
export const contextPackRecorded = defineEvent(
  'task.context_pack_recorded',
  'task',
  z.strictObject({
    publicId: z.string(),
    contextPackId: Uuid,
    claimId: Uuid,
    asOf: Timestamp,
    asOfMode: z.enum(asOfModes),
    entities: count,
    facts: count,
    snapshots: count,
  }),
);
