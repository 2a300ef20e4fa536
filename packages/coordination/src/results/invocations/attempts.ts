import { Refusal } from '@baton/kernel/http/refusal';
import { measureDocument } from '@baton/values/document-size';
import { eventText } from '@baton/values/event-text';
import type { JsonObject } from '@baton/values/wire';
import type { InvocationError } from '../../leases/invocations/invocation-row.ts';
import { emit } from '../../ledger/journal/journal.ts';
import { getSkillRow } from '../../organisation/skills/skills.ts';
import { checkDocument } from '../../service/documents.ts';
import { recordSkillResult } from '../artifacts/artifacts.ts';
import type { Context } from '../context.ts';
import { type CallableSkill, schemaOf } from './call-rules.ts';
import { type Ending, updateToFailed, updateToRetried, updateToSucceeded } from './end-invocation.sql.ts';
import { type InvocationRow, keptOutputBytesMax, payloadBytesMax } from './invocation.ts';
import { invocationFailed, invocationRetryScheduled, invocationSucceeded } from './invocations.events.ts';

/** How an attempt at a call ended; the call is locked. */

/**
 * Accepts an attempt's output. An output that violates the contract fails the call without a retry, since another
 * executor would not do any better.
 * @throws Refusal `invalid_document` for an output that is not an object
 */
export async function takeOutput(
  context: Context,
  row: InvocationRow,
  output: unknown,
  cost: InvocationRow['cost'],
): Promise<InvocationRow> {
  const skill = (await getSkillRow(context, row.skill_id)) as CallableSkill;
  const violation = violationOf(skill, output);
  if (violation !== undefined) return failCall(context, row, violation, cost);
  return succeed(context, row, skill, output as JsonObject, cost);
}

/** How an output violates the contract: its size, or its schema. */
function violationOf(skill: CallableSkill, output: unknown): InvocationError | undefined {
  const code = 'output_contract_violation';
  try {
    checkDocument(output, { field: 'output', bytesMax: payloadBytesMax });
  } catch (error) {
    if (!(error instanceof Refusal) || error.code === 'invalid_document') throw error;
    const details = { ...error.details, ...rejectedOf(output as JsonObject) } as JsonObject;
    return { code, message: 'The output exceeds the maximum size.', details };
  }
  const errors = schemaOf(skill, 'outputs').faultsOf(output);
  if (errors.length === 0) return undefined;
  const details = { errors: errors.map((one) => ({ ...one })), ...rejectedOf(output) };
  return { code, message: 'The output does not match the contract.', details };
}

/** A small invalid output is stored for debugging the skill. */
function rejectedOf(output: JsonObject): JsonObject {
  const { bytes, depth } = measureDocument(output);
  const isKept = bytes <= keptOutputBytesMax && depth <= 20;
  return isKept ? { rejectedOutput: output } : { rejectedOutputBytes: bytes };
}

async function succeed(
  context: Context,
  row: InvocationRow,
  skill: CallableSkill,
  output: JsonObject,
  cost: InvocationRow['cost'],
): Promise<InvocationRow> {
  const { db, tenantId } = context;
  const artifactId =
    row.task_id === null
      ? null
      : await recordSkillResult(
          context,
          { ...row, task_id: row.task_id },
          {
            name: `Result of ${skill.name}@${skill.version}`,
            content: resultOf(row, skill, output),
          },
        );
  context.counters.skillInvocations.inc({ result: 'succeeded' });
  const ended = (await db.row(
    updateToSucceeded(tenantId, endingOf(row), { output, cost, artifactId }),
  )) as InvocationRow;
  emit(
    context,
    invocationSucceeded,
    { entityId: row.id, workspaceId: row.workspace_id, sessionId: row.executor_session_id },
    {
      ...aboutOf(ended, skill),
      artifactId,
      cost: cost === null ? null : { ...cost, unit: eventText(cost.unit) },
    },
  );
  return ended;
}

/**
 * The content of the artifact: a small output in full; otherwise only its size, because the call has the full output.
 */
function resultOf({ id }: InvocationRow, { name, version }: CallableSkill, output: JsonObject): JsonObject {
  const about = { invocationId: id, skill: name, version };
  const { bytes, depth, nodes } = measureDocument({ ...about, output });
  const isSmall = bytes <= keptOutputBytesMax && depth <= 20 && nodes <= 5000;
  return isSmall ? { ...about, output } : { ...about, outputBytes: measureDocument(output).bytes };
}

/** Requeues the call if the contract allows another attempt, otherwise ends it. */
export async function failAttempt(
  context: Context,
  row: InvocationRow,
  error: InvocationError,
  isRetryable: boolean,
): Promise<InvocationRow> {
  if (!isRetryable || row.attempt >= row.max_attempts) return failCall(context, row, error, null);
  const { db, tenantId } = context;
  context.counters.skillInvocations.inc({ result: 'retried' });
  const ended = (await db.row(updateToRetried(tenantId, row.id, error))) as InvocationRow;
  emit(
    context,
    invocationRetryScheduled,
    { entityId: row.id, workspaceId: row.workspace_id, sessionId: row.executor_session_id },
    {
      skillId: row.skill_id,
      attempt: ended.attempt,
      maxAttempts: ended.max_attempts,
      availableAt: ended.available_at,
      error: shownError(error),
    },
  );
  return ended;
}

async function failCall(
  context: Context,
  row: InvocationRow,
  error: InvocationError,
  cost: InvocationRow['cost'],
): Promise<InvocationRow> {
  const { db, tenantId } = context;
  const skill = await getSkillRow(context, row.skill_id);
  context.counters.skillInvocations.inc({ result: 'failed' });
  const ended = (await db.row(updateToFailed(tenantId, endingOf(row), { error, cost }))) as InvocationRow;
  emit(
    context,
    invocationFailed,
    { entityId: row.id, workspaceId: row.workspace_id, sessionId: row.executor_session_id },
    { ...aboutOf(ended, skill), maxAttempts: ended.max_attempts, error: shownError(error) },
  );
  return ended;
}

function endingOf({ id, requested_by_kind: kind, requested_by_ref: ref }: InvocationRow): Ending {
  return { id, approvalId: kind === 'approval' ? ref : null };
}

function aboutOf(
  { skill_id: skillId, attempt, task_id: taskId, run_id: runId }: InvocationRow,
  { name, version }: { name: string; version: string },
) {
  return { skillId, skill: eventText(name), version, attempt, taskId, runId };
}

/** The error's details are omitted, because they may repeat the request. */
function shownError({ code, message }: InvocationError) {
  return { code, message: eventText(message) };
}
