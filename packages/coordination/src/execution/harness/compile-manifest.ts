import { type Reply, reply } from '@baton/kernel/http/service';
import type { Json, JsonObject } from '@baton/values/wire';
import { ceilingOf, layersAt } from '../../organisation/projects/config/layers.ts';
import { checkDocument } from '../../service/documents.ts';
import { canonicalHash } from '../../service/durable-text/canonical.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { type LiveRunRow, requireLiveRun } from '../runs/live-run.ts';
import {
  declaredSections,
  type HarnessManifest,
  type ManifestCompilation,
  type ManifestRow,
  serverSections,
} from './manifest.ts';
import { findSurroundings, insertManifest, type SurroundingsRow } from './manifests.sql.ts';
import { addContextPack, requireManifest } from './manifests.ts';

const sectionBytesMax = 16_384;

type Declared = Partial<Record<(typeof declaredSections)[number], Json>>;

/**
 * Compiles the manifest of a run again (docs/reference/runs.md#manifest), under the presented claim: the server's
 * sections with their current values, and the declared sections as given, or unchanged if omitted. A base with the same
 * hash creates no new version. No decision depends on the declarations of a harness.
 * @throws Refusal `server_authoritative_section`, those of a document, `non_canonical_value`, those of
 * `requireLiveRun`, `invalid_fallback_attempt`
 */
export async function compileManifest(
  context: Context,
  runId: string,
  request: ManifestCompilation,
): Promise<Reply<HarnessManifest>> {
  for (const section of serverSections)
    if (Object.hasOwn(request, section)) fail('server_authoritative_section', { section });
  const declared = declaredIn(request);
  const { claimId, fencingToken, reason } = request;
  const run = await requireLiveRun(context, runId, { claimId, fencingToken });
  const active = await requireManifest(context, runId, null);
  if (reason === 'provider_fallback') requireNextAttempt(active, request.model?.attempt);
  const { db, tenantId, caller } = context;
  const around = (await db.row(findSurroundings(tenantId, run))) as SurroundingsRow;
  const projectPolicy = await policyAt(context, around.workspace_id);
  const base = { ...active.base, ...serverPart(context, active, around), projectPolicy, ...declared };
  if (canonicalHash(base) === canonicalHash(active.base))
    return reply(200, await addContextPack(context, active));
  const row = await db.row(
    insertManifest({
      tenantId,
      runId,
      version: active.version + 1,
      reason,
      base,
      captured: capturedOf(run, around),
      declared: declaredSections.filter((name) => base[name] !== null),
      principalId: caller.principalId,
    }),
  );
  return reply(201, await addContextPack(context, row as ManifestRow));
}

/** The sections that the request body declares; null removes an earlier declaration. */
function declaredIn(request: ManifestCompilation): Declared {
  const declared: Declared = {};
  for (const field of declaredSections) {
    const value: unknown = request[field];
    if (value === undefined) continue;
    if (value === null) {
      declared[field] = null;
      continue;
    }
    checkDocument(value, { field, bytesMax: sectionBytesMax });
    canonicalHash(value);
    declared[field] = value;
  }
  return declared;
}

function requireNextAttempt(active: ManifestRow, attempt: number | undefined): void {
  const activeAttempt = (active.base['model'] as { attempt: number } | null)?.attempt ?? 0;
  if (attempt === undefined || attempt <= activeAttempt)
    fail('invalid_fallback_attempt', { attempt: attempt ?? null, activeAttempt });
}

/** The server's sections that can change during a run. */
function serverPart({ caller }: Context, active: ManifestRow, around: SurroundingsRow): JsonObject {
  const identity = active.base['identity'] as JsonObject;
  const run = active.base['run'] as JsonObject;
  const { type_key: typeKey, type_version: typeVersion, workspace_id: workspaceId } = around;
  return {
    identity: {
      ...identity,
      iamPrincipalId: caller.iamPrincipalId,
      permissions: [...caller.permissions].sort(),
    },
    run: { ...run, typeKey, typeVersion, workspaceId },
    toolPolicy: around.tools,
  };
}

/** The policy of the projects above the run's task, with the nearest project; null if there is none. */
async function policyAt(context: Context, workspaceId: string | null): Promise<JsonObject | null> {
  const layers = workspaceId === null ? [] : await layersAt(context, { workspaceId });
  const nearest = layers.at(-1);
  if (nearest === undefined) return null;
  const { projectId, templateKey, templateVersion, revisionNumber: revision } = nearest;
  const { governance } = ceilingOf(layers);
  return { projectId, templateKey, templateVersion, revision, governance };
}

function capturedOf(run: LiveRunRow, { horizon, task_version: taskVersion }: SurroundingsRow) {
  return { horizon, taskVersion, runVersion: run.version };
}
