import { type Reply, reply } from '@baton/kernel/http/service';
import { newId } from '@baton/values/ids';
import type { JsonObject } from '@baton/values/wire';
import { requireMayFile } from '../../access/policy/filed-in.ts';
import { getRun } from '../../execution/runs/runs.ts';
import { requireRunGrant } from '../../leases/children/child-grant.ts';
import { requireDelegated } from '../../leases/delegated/delegated-rights.ts';
import { emit } from '../../ledger/journal/journal.ts';
import { getWorkspaceRow } from '../../organisation/workspaces/workspaces.ts';
import { holds } from '../../service/permissions.ts';
import { requireSightOfPlace } from '../../service/sight/sight.ts';
import { getTask } from '../../work/tasks/tasks.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import type { NewObservation, Observable, RecordedObservation } from './observation.ts';
import { type ObservedFacts, parseFacts } from './observation-rules.ts';
import { observationRecorded } from './observations.events.ts';
import {
  findByEvent,
  findNewestOfReference,
  findNewestOfTask,
  findObservedPayload,
  findOwnSession,
  findRepeated,
  insertObservation,
  type ObservationRow,
} from './observations.sql.ts';

/**
 * Publishes a fact in the journal. If the same author repeats a source and key, nothing is written, even if the
 * requests are concurrent. See docs/reference/memory.md#observations.
 * @param knownId the id of the new observation, if the caller has already chosen it
 * @throws Refusal `permission_denied`, `observation_invalid`, those of documents, `not_found`, `child_grant_exceeded`
 */
export async function recordObservation(
  context: Context,
  request: NewObservation,
  knownId?: string,
): Promise<Reply<RecordedObservation>> {
  const namesWork = request.task != null || request.runId != null;
  if (namesWork && !holds(context.caller.permissions, 'tasks.read'))
    fail('permission_denied', { required: ['tasks.read'] });
  const facts = parseFacts(request);
  const before = await repeated(context, facts);
  if (before !== undefined) return answer(before, true);
  const references = await referencesOf(context, request);
  const { sessionId, placeId, aboutTaskId, ...told } = references;
  const [id, eventId] = [knownId ?? newId(), newId()];
  const row = await context.db.row(
    insertObservation({
      id,
      event_id: eventId,
      tenant_id: context.tenantId,
      created_by: context.caller.principalId,
      kind: facts.kind,
      source: facts.source ?? null,
      dedup_key: facts.dedupKey ?? null,
      task_id: aboutTaskId,
      run_id: told.runId ?? null,
      workspace_id: placeId,
      external_system: facts.externalRef?.system ?? null,
      external_id: facts.externalRef?.id ?? null,
      supersedes: told.supersedes ?? null,
    }),
  );
  // A concurrent request inserted the observation between the check and this statement, which waited for that request.
  if (row === undefined) return answer((await repeated(context, facts)) as ObservationRow, true);
  const about = { entityId: id, eventId, workspaceId: placeId, sessionId };
  emit(context, observationRecorded, about, { observedAt: row.recorded_at, ...facts, ...told });
  return answer(row, false);
}

async function repeated(
  { db, tenantId, caller }: Context,
  { source, dedupKey }: ObservedFacts,
): Promise<ObservationRow | undefined> {
  if (source === undefined || dedupKey === undefined) return undefined;
  return db.row(findRepeated(tenantId, caller.principalId, source, dedupKey));
}

function answer(row: ObservationRow, deduplicated: boolean): Reply<RecordedObservation> {
  const { id, event_id: eventId, kind, recorded_at: recordedAt } = row;
  return reply(deduplicated ? 200 : 201, { id, eventId, kind, recordedAt, deduplicated });
}

/**
 * Resolves what the observation refers to. `placeId` is the workspace of its event. `aboutTaskId` is its task (for a
 * run, the run's task), which determines who sees it.
 */
async function referencesOf(context: Context, request: NewObservation) {
  const named = request.task == null ? undefined : await getTask(context, request.task);
  const run = request.runId == null ? undefined : await getRun(context, request.runId);
  if (request.workspaceId != null) await getWorkspaceRow(context, request.workspaceId);
  if (request.sessionId != null) await requireOwnSession(context, request.sessionId);
  if (request.supersedes != null) await requireObservation(context, request.supersedes);
  if (run !== undefined && named !== undefined && run.taskId !== named.id)
    fail('observation_invalid', { field: 'runId' });
  if (run !== undefined) await requireRunGrant(context, run.id, 'observations.write');
  const task = named ?? (run && (await getTask(context, { id: run.taskId, number: null })));
  const placeId = request.workspaceId ?? task?.workspaceId ?? null;
  await requireMayFile(
    context,
    'observations.write',
    placeId,
    task === undefined ? placeId : task.workspaceId,
  );
  return {
    sessionId: request.sessionId ?? null,
    placeId,
    aboutTaskId: task?.id ?? null,
    ...(named !== undefined && { taskId: named.id }),
    ...(run !== undefined && { runId: run.id }),
    ...(request.workspaceId != null && { workspaceId: request.workspaceId }),
    ...(request.supersedes != null && { supersedes: request.supersedes }),
  };
}

async function requireOwnSession(context: Context, sessionId: string): Promise<void> {
  const { db, tenantId, caller } = context;
  if ((await db.row(findOwnSession(tenantId, caller.principalId, sessionId))) === undefined)
    fail('not_found', { sessionId });
  await requireDelegated(context, { sessionId }, 'observations.write');
}

async function requireObservation(context: Context, eventId: string): Promise<void> {
  const details = { supersedes: eventId };
  const row = (await context.db.row(findByEvent(context.tenantId, eventId))) ?? fail('not_found', details);
  await requireSightOfPlace(context, row, details);
}

/**
 * The newest observation of a key, with the payload of its event; undefined if none exists. Observations from provers
 * take precedence.
 */
export async function findNewest(
  { db, tenantId }: Context,
  observable: Observable,
): Promise<{ id: string; payload: JsonObject; isProof: boolean } | undefined> {
  const { externalRef } = observable;
  const statement =
    externalRef === undefined
      ? findNewestOfTask(tenantId, observable)
      : findNewestOfReference(tenantId, externalRef, observable);
  const found = await db.row(statement);
  if (found === undefined) return undefined;
  const event = await db.row(findObservedPayload(tenantId, found.id, found.event_id));
  return event === undefined ? undefined : { id: found.id, payload: event.payload, isProof: found.is_proof };
}
