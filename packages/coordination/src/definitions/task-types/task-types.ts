import { type ItemPage, listPage } from '@baton/kernel/database/list';
import type { Page } from '@baton/kernel/http/paging';
import { eventText } from '@baton/values/event-text';
import { newId } from '@baton/values/ids';
import type { JsonObject } from '@baton/values/wire';
import { emit } from '../../ledger/journal/journal.ts';
import { findPinnedSkills } from '../../organisation/skills/skills.ts';
import { lockVersions } from '../../organisation/version-lock.ts';
import { refuseSecretText } from '../../service/documents.ts';
import { checkStoredSchema } from '../../service/stored-schema.ts';
import { parseAcceptance, requireSubjectsOfChecks } from '../acceptance/acceptance.ts';
import { isMediaTypeRange, isWithin } from '../artifact-types/artifact-type.ts';
import type { Context } from '../context.ts';
import { parseApprovalSchema, requireSkillsOfGates } from '../declared-actions/approval-schema.ts';
import { parseCompletionSchema } from '../declared-actions/completion-schema.ts';
import { fail } from '../errors.ts';
import { claimMovesOf, parseLifecycle } from './lifecycle-grammar.ts';
import { systemLifecycle, systemTypeKey } from './system-type.ts';
import {
  instructionsBytesMax,
  type NewTaskType,
  type TaskType,
  type TaskTypeRow,
  taskTypeOf,
  taskTypeStatuses,
} from './task-type.ts';
import { taskTypeCreated, taskTypeDeprecated } from './task-types.events.ts';
import {
  countActiveVersions,
  findNewestArtifactTypes,
  findTaskType,
  findTaskTypes,
  insertTaskType,
  updateTaskTypeToDeprecated,
} from './task-types.sql.ts';
import {
  type ArtifactSchema,
  type Execution,
  parseArtifactSchema,
  parseContextSchema,
  parseExecution,
} from './type-documents.ts';

/**
 * Creates the next version of a task type; versions never change (docs/reference/definitions.md#create-a-version). The
 * checks are in the documented order of refusals.
 */
export async function createTaskType(context: Context, request: NewTaskType): Promise<TaskType> {
  const { db, tenantId, caller } = context;
  const documents = await checkTaskType(context, request);
  const { key, displayName, description } = request;
  await lockVersions(context, 'task_types', key);
  const moves = claimMovesOf(documents.lifecycle);
  const ids = { id: newId(), tenantId, createdBy: caller.principalId };
  const values = { ...documents, ...ids, moves, key, displayName, description };
  const row = (await db.row(insertTaskType(values))) as TaskTypeRow;
  emit(context, taskTypeCreated, { entityId: row.id }, summaryOf(row));
  return taskTypeOf(row);
}

/**
 * Validates a new version without storing it.
 * @returns its documents, with defaults for omitted parts
 * @throws Refusal of the first malformed document
 */
export async function checkTaskType(context: Context, request: NewTaskType) {
  const execution = parseExecution(request.execution);
  if (execution.skill != null)
    await requireExecutionSkill(context, `${execution.skill}@${execution.version}`);
  const { fieldSchema, lifecycleSchema, instructions } = request;
  checkStoredSchema(fieldSchema, { field: 'fieldSchema' });
  const lifecycle = parseLifecycle(lifecycleSchema ?? systemLifecycle);
  const approvalSchema = await parseApprovalSchema(context, request.approvalSchema);
  await requireSkillsOfGates(context, approvalSchema);
  const contextSchema = parseContextSchema(request.contextSchema);
  checkInstructions(instructions);
  const completionSchema = await parseCompletionSchema(context, request.completionSchema);
  const artifactSchema = parseArtifactSchema(request.artifactSchema);
  await requireArtifactTypes(context, artifactSchema);
  const acceptance = parseAcceptance(request.acceptance, []);
  await requireSubjectsOfChecks(context, acceptance);
  const companions = { execution, approvalSchema, contextSchema, completionSchema, artifactSchema };
  return { ...companions, fieldSchema, lifecycle, instructions, acceptance };
}

/**
 * @param skill `name@version`
 * @throws Refusal `invalid_task_execution` with `reason` not_found, disabled or no_contract
 */
async function requireExecutionSkill(context: Context, skill: string): Promise<void> {
  const found = (await findPinnedSkills(context, [skill])).get(skill);
  if (found === undefined) return fail('invalid_task_execution', { reason: 'not_found', skill });
  if (found.obstacle === undefined) return;
  const reason = found.obstacle === 'disabled' ? 'disabled' : 'no_contract';
  fail('invalid_task_execution', { reason, skill });
}

function checkInstructions(instructions: string): void {
  const field = 'instructions';
  const actualBytes = Buffer.byteLength(instructions);
  if (actualBytes > instructionsBytesMax)
    fail('payload_too_large', { field, maxBytes: instructionsBytesMax, actualBytes });
  refuseSecretText(instructions, field);
}

/**
 * Inputs and outputs must have registered types, and an output may only narrow the media types of its type.
 * @throws Refusal `unknown_artifact_type`, `invalid_artifact_schema`
 */
async function requireArtifactTypes(
  { db, tenantId }: Context,
  { inputs = [], outputs = [] }: ArtifactSchema,
): Promise<void> {
  const named = [
    ...inputs.map(({ type }, n) => ({ type, field: `artifactSchema.inputs.${n}` })),
    ...outputs.map(({ type }, n) => ({ type, field: `artifactSchema.outputs.${n}` })),
  ];
  if (named.length === 0) return;
  const found = await db.rows(findNewestArtifactTypes(tenantId, [...new Set(named.map(({ type }) => type))]));
  const mediaTypesByKey = new Map(found.map(({ key, media_types }) => [key, media_types]));
  const unknown = named.find(({ type }) => !mediaTypesByKey.has(type));
  if (unknown !== undefined)
    fail('unknown_artifact_type', { field: `${unknown.field}.type`, type: unknown.type });
  for (const [n, { type, mediaTypes = [] }] of outputs.entries()) {
    const allowed = mediaTypesByKey.get(type) as string[];
    const wrong = mediaTypes.findIndex(
      (one) =>
        !isMediaTypeRange(one.toLowerCase()) || !allowed.some((range) => isWithin(one.toLowerCase(), range)),
    );
    if (wrong >= 0)
      fail('invalid_artifact_schema', { field: `artifactSchema.outputs.${n}.mediaTypes.${wrong}`, allowed });
  }
}

function summaryOf(row: TaskTypeRow) {
  const { initialStatus, completionStatus } = row.lifecycle_schema;
  const declares = (document: JsonObject) => Object.keys(document).length > 0;
  return {
    key: row.key,
    version: row.version,
    displayName: eventText(row.display_name),
    initialStatus,
    completionStatus,
    execution: row.execution === null ? null : (row.execution as Execution),
    declaresApprovalOutcomes: declares(row.approval_schema),
    declaresContextProfile: declares(row.context_schema),
    declaresInstructions: row.instructions !== '',
    declaresCompletionWork: declares(row.completion_schema),
    declaresArtifactSchema: declares(row.artifact_schema),
    inputs: row.artifact_schema.inputs?.length ?? 0,
    outputs: row.artifact_schema.outputs?.length ?? 0,
  };
}

/**
 * Deprecates a version: new tasks only use it if they specify it; repeating the call changes nothing.
 * @throws Refusal `not_found`, `system_task_type_required` for the last active version of `task`
 */
export async function deprecateTaskType(context: Context, id: string): Promise<TaskType> {
  const { db, tenantId } = context;
  const { key } = await getTaskType(context, id);
  // If two versions of the built-in type are deprecated concurrently, the lock makes the second command find that its
  // version is the last active one.
  await lockVersions(context, 'task_types', key);
  const type = await getTaskType(context, id);
  if (type.status === 'deprecated') return type;
  const { versions = 0 } = (await db.row(countActiveVersions(tenantId, key))) ?? {};
  if (key === systemTypeKey && versions <= 1) fail('system_task_type_required', { key });
  const row = (await db.row(updateTaskTypeToDeprecated(tenantId, id))) as TaskTypeRow;
  emit(context, taskTypeDeprecated, { entityId: id }, { key, version: row.version });
  return taskTypeOf(row);
}

/**
 * A page of task types, all versions (docs/reference/definitions.md#read-and-deprecate). @throws Refusal
 * `invalid_status`, `invalid_cursor`
 */
export async function listTaskTypes(
  { db, tenantId }: Context,
  query: { key?: string; status?: string; package?: string | undefined },
  page: Page,
): Promise<ItemPage<TaskType>> {
  const { key, status } = query;
  if (status !== undefined && !taskTypeStatuses.some((known) => known === status))
    fail('invalid_status', { allowed: taskTypeStatuses });
  const found = findTaskTypes(tenantId, { key, status, package_key: query.package }, page);
  return listPage(db, found, taskTypeOf);
}

/** @throws Refusal `not_found` */
export async function getTaskType({ db, tenantId }: Context, id: string): Promise<TaskType> {
  const row = await db.row(findTaskType(tenantId, id));
  return row === undefined ? fail('not_found') : taskTypeOf(row);
}
