import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Timestamp, Uuid } from '@baton/values/wire';

const count = z.int().nonnegative();
const counters = z.record(z.string(), z.number());
const ofTree = { workspaceId: Uuid, rootWorkspaceId: Uuid, namespace: z.string() };
const snapshot = {
  snapshotId: z.string(),
  pack: z.string().nullable(),
  source: z.string(),
  observedAt: Timestamp,
  ...ofTree,
};

/** The size of a snapshot; the event's entity is the workspace. */
export const snapshotReconciled = defineEvent(
  'knowledge.snapshot_reconciled',
  'workspace',
  z.strictObject({
    ...snapshot,
    entityCount: count,
    relationCount: count,
    duplicate: z.boolean(),
    counters,
  }),
);

/** The entities that a snapshot changed, at most 200. */
export const knowledgeChanged = defineEvent(
  'knowledge.changed',
  'workspace',
  z.strictObject({
    ...snapshot,
    changes: z.array(
      z.strictObject({
        kind: z.string(),
        key: z.string(),
        change: z.enum(['opened', 'changed', 'closed']),
      }),
    ),
    truncated: z.boolean(),
    counters,
  }),
);

export const documentStored = defineEvent(
  'knowledge.document_stored',
  'workspace',
  z.strictObject({
    naturalKey: z.string(),
    title: z.string(),
    type: z.string(),
    chunkCount: count,
    linkCount: count,
    ...ofTree,
  }),
);

export const packRegistered = defineEvent(
  'knowledge.pack_registered',
  'knowledge_pack',
  z.strictObject({ name: z.string(), version: z.string(), status: z.string(), scope: z.string() }),
  2,
);

export const packsConfigured = defineEvent(
  'knowledge.packs_configured',
  'workspace',
  z.strictObject({
    workspaceId: Uuid,
    namespace: z.string(),
    packs: z.array(z.string()),
    strict: z.boolean(),
  }),
);
