import { z } from 'zod';
import { type RowOf, wireMapper } from '@baton/kernel/database/row';
import { FreeObject, type JsonObject, Timestamp, Uuid } from '@baton/values/wire';
import { cursorAtHorizon } from '../../ledger/journal/cursor.ts';
import { documentBytesMax } from '../../service/documents.ts';
import { canonicalHash } from '../../service/durable-text/canonical.ts';
import type { Tables } from '../../service/schema.ts';

/** Increased when the format of the base's sections changes. */
const schemaVersion = 1;

export const serverSections = ['identity', 'run', 'projectPolicy', 'toolPolicy', 'budgets'] as const;
export const declaredSections = ['model', 'redaction', 'workerProfile', 'executionBackend'] as const;
export type DeclaredSection = (typeof declaredSections)[number];

const remarkKinds = ['steering', 'warning', 'budget_warning', 'note'] as const;

/** A remark on the manifest version that was the newest when the remark was made. */
export const ManifestRemark = z
  .strictObject({
    kind: z.enum(remarkKinds),
    summary: z.string(),
    data: FreeObject,
    createdAt: Timestamp,
    createdBy: Uuid,
  })
  .meta({ id: 'ManifestRemark' });
export type ManifestRemark = z.infer<typeof ManifestRemark>;

/** One version of the configuration that a run worked with (docs/reference/runs.md#manifest). */
export const HarnessManifest = z
  .strictObject({
    runId: Uuid,
    version: z.int().positive(),
    schemaVersion: z.int().positive(),
    reason: z.enum(['run_started', 'recompile', 'provider_fallback']),
    baseHash: z.string().meta({ description: '`sha256:<hex>` of `base` as canonical JSON.' }),
    base: FreeObject,
    captured: z.strictObject({
      eventCursor: z.string(),
      entityVersions: z.strictObject({ task: z.int(), run: z.int() }),
      contextPackId: Uuid.nullable().meta({
        description: 'The context that was recorded for the claim of the run.',
      }),
    }),
    provenance: z
      .record(z.string(), z.enum(['server', 'harness_declared']))
      .meta({ description: 'The source of each section of `base`; null for an empty section.' }),
    ephemeral: z.array(ManifestRemark),
    createdAt: Timestamp,
    createdBy: Uuid,
  })
  .meta({ id: 'HarnessManifest' });
export type HarnessManifest = z.infer<typeof HarnessManifest>;

/** The model that a harness declares. Its attempt increases with each fallback to another model. */
const Model = z.strictObject({
  provider: z.string().min(1).max(200),
  name: z.string().min(1).max(200),
  attempt: z.number().min(1).max(1_000_000),
});
const section = z.unknown().optional().meta({ type: 'object', 'x-maxBytes': 16_384 });

/** Unknown fields are dropped. The handler refuses the server's sections with their own error code. */
export const ManifestCompilation = z
  .looseObject({
    claimId: Uuid,
    fencingToken: z.int(),
    reason: z.enum(['recompile', 'provider_fallback']).default('recompile'),
    workerProfile: section,
    executionBackend: section,
    model: Model.nullish(),
    redaction: section,
  })
  .meta({ id: 'ManifestCompilation', 'x-maxBytes': 1_048_576 });
export type ManifestCompilation = z.output<typeof ManifestCompilation>;

export const ManifestRemarkRequest = z
  .strictObject({
    kind: z.enum(remarkKinds),
    summary: z.string().min(1).max(2000),
    data: z.unknown().default({}).meta({ type: 'object', 'x-maxBytes': documentBytesMax }),
  })
  .meta({ id: 'ManifestRemarkRequest' });
export type ManifestRemarkRequest = z.output<typeof ManifestRemarkRequest>;

export type ManifestRow = RowOf<
  Tables['harness_manifests'],
  {
    base: JsonObject;
    captured: { horizon: number; taskVersion: number; runVersion: number };
    declared: DeclaredSection[];
    remarks: ManifestRemark[];
  }
>;

/** @param row with the context that was recorded for the claim of the run */
export const manifestOf = wireMapper<ManifestRow & { context_pack_id: string | null }>()(HarnessManifest, {
  schemaVersion: () => schemaVersion,
  baseHash: ({ base }) => canonicalHash(base),
  captured: ({ captured: { horizon, taskVersion, runVersion }, context_pack_id: contextPackId }) => ({
    eventCursor: cursorAtHorizon(horizon),
    entityVersions: { task: taskVersion, run: runVersion },
    contextPackId,
  }),
  provenance: ({ declared }) =>
    Object.fromEntries([
      ...serverSections.map((name) => [name, 'server'] as const),
      ...declared.map((name) => [name, 'harness_declared'] as const),
    ]),
  ephemeral: ({ remarks }) => remarks,
});
