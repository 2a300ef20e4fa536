import type { ItemPage } from '@baton/kernel/database/list';
import type { Page } from '@baton/kernel/http/paging';
import { eventText } from '@baton/values/event-text';
import { newId } from '@baton/values/ids';
import type { JsonObject } from '@baton/values/wire';
import { requireMayFile, requireMayHangOn } from '../../access/policy/filed-in.ts';
import { getRun } from '../../execution/runs/runs.ts';
import { requireRunGrant } from '../../leases/children/child-grant.ts';
import { emit } from '../../ledger/journal/journal.ts';
import { getWorkspaceRow } from '../../organisation/workspaces/workspaces.ts';
import { checkDocument, refuseSecretKeys, refuseSecretText } from '../../service/documents.ts';
import { listHanging } from '../../service/sight/seen-list.ts';
import { requireSightOfPlace } from '../../service/sight/sight.ts';
import type { Task } from '../../work/tasks/task.ts';
import { getTask } from '../../work/tasks/tasks.ts';
import { recordUpload } from '../contents/uploads.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { type Artifact, type ArtifactRow, artifactOf, coreTypes, type NewArtifact } from './artifact.ts';
import { artifactCreated } from './artifacts.events.ts';
import { findArtifact, insertArtifact, listOfArtifacts, type NewArtifactValues } from './artifacts.sql.ts';
import { requireTypeRules } from './registered-type.ts';

const typeCharactersMax = 200;
const nameCharactersMax = 500;

/**
 * Records a result. See docs/reference/artifacts.md#create.
 * @throws Refusal `invalid_type`, `invalid_name`, `invalid_artifact_content`, those of documents, `not_found`,
 * `artifact_mismatch`, `child_grant_exceeded`, `content_ref_not_found`, `invalid_artifact_metadata`,
 * `media_type_not_allowed`, `artifact_too_large`
 */
export async function createArtifact(context: Context, request: NewArtifact): Promise<Artifact> {
  const document = documentsOf(request);
  const place = await placeOf(context, request);
  const content = request.contentRef == null ? undefined : await recordUpload(context, request.contentRef);
  const typeVersion = await requireTypeRules(context, document.type, document.metadata, content);
  const row = (await context.db.row(
    insertArtifact({
      id: newId(),
      tenant_id: context.tenantId,
      created_by: context.caller.principalId,
      ...place,
      ...document,
      type_version: typeVersion,
      content_id: content?.content_id ?? null,
      size_bytes: content?.size_bytes ?? null,
      media_type: content?.media_type ?? null,
      sha256: content?.sha256 ?? null,
    }),
  )) as ArtifactRow;
  const artifact = artifactOf(row);
  emitCreated(context, artifact);
  return artifact;
}

/** Records the result of a passed verification on behalf of the caller. @returns the id of the artifact */
export async function recordVerification(
  context: Context,
  task: Pick<Task, 'id' | 'publicId' | 'workspaceId'>,
  verification: { id: string; content: JsonObject },
): Promise<string> {
  const place = { workspace_id: task.workspaceId, task_id: task.id, run_id: null };
  const name = `Verification of ${task.publicId}`;
  const row = await writeOwn(context, {
    ...place,
    type: 'verification',
    name,
    content: verification.content,
  });
  emitCreated(context, artifactOf(row), { verificationId: verification.id });
  return row.id;
}

/** Records the result of a skill call for a task on behalf of the call's executor. @returns the id of the artifact */
export async function recordSkillResult(
  context: Context,
  call: { id: string; workspace_id: string | null; task_id: string; run_id: string | null },
  { name, content }: { name: string; content: JsonObject },
): Promise<string> {
  const { workspace_id, task_id, run_id } = call;
  const row = await writeOwn(context, { workspace_id, task_id, run_id, type: 'skill_result', name, content });
  emitCreated(context, artifactOf(row), { skillInvocationId: call.id });
  return row.id;
}

/** Writes an artifact of one of the core's types. */
async function writeOwn(
  { db, tenantId, caller }: Context,
  values: Pick<NewArtifactValues, 'workspace_id' | 'task_id' | 'run_id' | 'type' | 'name' | 'content'>,
): Promise<ArtifactRow> {
  const none = { uri: null, type_version: null, supersedes_artifact_id: null };
  const noContent = { content_id: null, size_bytes: null, media_type: null, sha256: null };
  const ids = { id: newId(), tenant_id: tenantId, created_by: caller.principalId };
  return (await db.row(
    insertArtifact({ ...ids, ...values, metadata: {}, ...none, ...noContent }),
  )) as ArtifactRow;
}

/** Validates the request without the database. */
function documentsOf({ type, name, uri = null, content = null, contentRef, metadata }: NewArtifact) {
  if (type.trim() === '' || type.length > typeCharactersMax)
    fail('invalid_type', { maxLength: typeCharactersMax });
  if (coreTypes.includes(type.trim())) fail('invalid_type', { reserved: coreTypes });
  if (name.trim() === '' || name.length > nameCharactersMax)
    fail('invalid_name', { maxLength: nameCharactersMax });
  if (contentRef != null && (uri !== null || content !== null)) fail('invalid_artifact_content');
  for (const [field, text] of Object.entries({ type, name, uri: uri ?? '' })) refuseSecretText(text, field);
  if (content !== null) guardDocument(content, 'content');
  guardDocument(metadata, 'metadata');
  return { type, name, uri, content, metadata };
}

function guardDocument(document: unknown, field: string): asserts document is JsonObject {
  checkDocument(document, { field });
  refuseSecretKeys(document, field);
}

/**
 * Resolves the owner of the artifact: a run's artifact belongs to the run's task, and a task's artifact to the task's
 * workspace.
 */
async function placeOf(
  context: Context,
  { task: taskRef, runId, workspaceId, supersedesArtifactId }: NewArtifact,
) {
  const superseded =
    supersedesArtifactId == null ? undefined : await getArtifactRow(context, supersedesArtifactId);
  const named = taskRef == null ? undefined : await getTask(context, taskRef);
  const run = runId == null ? undefined : await getRun(context, runId);
  if (run !== undefined && named !== undefined && run.taskId !== named.id)
    fail('artifact_mismatch', { field: 'runId' });
  const task =
    run === undefined || named !== undefined
      ? named
      : await getTask(context, { id: run.taskId, number: null });
  if (superseded !== undefined && superseded.task_id !== (task?.id ?? null))
    fail('artifact_mismatch', { field: 'supersedesArtifactId' });
  if (task !== undefined && workspaceId != null && workspaceId !== task.workspaceId)
    fail('artifact_mismatch', { field: 'workspaceId' });
  if (task === undefined && workspaceId != null) await getWorkspaceRow(context, workspaceId);
  if (task === undefined) await requireMayFile(context, 'artifacts.write', workspaceId ?? null);
  else await requireMayHangOn(context, 'artifacts.write', task);
  if (run !== undefined) await requireRunGrant(context, run.id, 'artifacts.write');
  return {
    supersedes_artifact_id: superseded?.id ?? null,
    task_id: task?.id ?? null,
    run_id: run?.id ?? null,
    workspace_id: task === undefined ? (workspaceId ?? null) : task.workspaceId,
  };
}

function emitCreated(
  context: Context,
  artifact: Artifact,
  from: { verificationId?: string; skillInvocationId?: string } = {},
): void {
  const { id, workspaceId, type, name, taskId, runId, uri, supersedesArtifactId } = artifact;
  const { sizeBytes, mediaType, sha256, contentState, typeVersion } = artifact;
  emit(
    context,
    artifactCreated,
    { entityId: id, workspaceId },
    {
      type: eventText(type),
      name: eventText(name),
      taskId,
      runId,
      uri: uri === null ? null : eventText(uri),
      supersedesArtifactId,
      sizeBytes,
      mediaType,
      sha256,
      contentState,
      typeVersion,
      ...from,
    },
  );
}

/** @throws Refusal `not_found` */
export async function getArtifactRow(context: Context, id: string): Promise<ArtifactRow> {
  const details = { artifactId: id };
  const row = (await context.db.row(findArtifact(context.tenantId, id))) ?? fail('not_found', details);
  await requireSightOfPlace(context, row, details);
  return row;
}

/** The query of `GET /artifacts`. */
export interface ArtifactQuery {
  taskId?: string;
  runId?: string;
  workspaceId?: string;
  type?: string;
}

/** @throws Refusal `invalid_cursor` */
export async function listArtifacts(
  context: Context,
  { taskId, runId, workspaceId, type }: ArtifactQuery,
  page: Page,
): Promise<ItemPage<Artifact>> {
  const filter = { task_id: taskId, run_id: runId, workspace_id: workspaceId, type };
  const { tenantId } = context;
  return listHanging(context, taskId, listOfArtifacts(tenantId, filter), page, artifactOf);
}
