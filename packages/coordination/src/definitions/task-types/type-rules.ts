import { BoundedCache } from '@baton/values/bounded-cache';
import { type PreparedSchema, prepareSchema } from '@baton/values/json-schema/schema';
import type { AcceptanceCheck } from '../acceptance/acceptance.ts';
import type { Context } from '../context.ts';
import { type ApprovalSchema, parseApprovalSchema } from '../declared-actions/approval-schema.ts';
import { type CompletionSchema, parseCompletionSchema } from '../declared-actions/completion-schema.ts';
import { fail } from '../errors.ts';
import type { Lifecycle } from './lifecycle.ts';
import { systemTypeKey } from './system-type.ts';
import type { TypeOutput } from './task-type.ts';
import { findTaskType, findTaskTypeId } from './task-types.sql.ts';
import type { Retry } from './type-documents.ts';

/** The rules of a task type for its tasks. They never change, so they are parsed once per process. */
export interface TypeRules {
  readonly id: string;
  readonly key: string;
  readonly version: number;
  /** The publisher; null for the built-in type. */
  readonly createdBy: string | null;
  readonly lifecycle: Lifecycle;
  /** The schema of the custom fields. */
  readonly fieldSchema: PreparedSchema;
  /** The type's own acceptance checks. */
  readonly acceptance: readonly AcceptanceCheck[];
  /** Keys of the type's own acceptance checks. */
  readonly acceptanceKeys: readonly string[];
  /** The artifacts that a task needs before it can be completed. */
  readonly requiredOutputs: readonly TypeOutput[];
  /** The rules for gates and for completed tasks. */
  readonly approvalSchema: ApprovalSchema;
  readonly completionSchema: CompletionSchema;
  /**
   * The retries after failed attempts; undefined for versions that predate retries, whose tasks are available
   * immediately.
   */
  readonly retry: Retry | undefined;
}

/**
 * The maximum total size of the source documents of cached rules. A prepared schema takes 20 times as much memory: 80
 * MB.
 */
const rulesKeptBytesMax = 4_194_304;
const rulesByType = new BoundedCache<TypeRules>(rulesKeptBytesMax);

/** The rules of a type of the caller's tenant. @throws Refusal `not_found` */
export async function rulesOf(context: Context, typeId: string): Promise<TypeRules> {
  const name = `${context.tenantId}/${typeId}`;
  const known = rulesByType.get(name);
  if (known !== undefined) return known;
  const row = await context.db.row(findTaskType(context.tenantId, typeId));
  if (row === undefined) return fail('not_found', { taskTypeId: typeId });
  const rules: TypeRules = {
    id: row.id,
    key: row.key,
    version: row.version,
    createdBy: row.created_by,
    lifecycle: row.lifecycle_schema,
    fieldSchema: prepareSchema(row.field_schema),
    acceptance: row.acceptance,
    acceptanceKeys: row.acceptance.map(({ key }) => key),
    requiredOutputs: (row.artifact_schema.outputs ?? []).filter(({ required }) => required === true),
    approvalSchema: await parseApprovalSchema(context, row.approval_schema),
    completionSchema: await parseCompletionSchema(context, row.completion_schema),
    retry: row.execution?.retry,
  };
  const { field_schema: fields, lifecycle_schema: lifecycle, acceptance } = row;
  const declared = [row.approval_schema, row.completion_schema];
  const bytes = JSON.stringify([fields, lifecycle, acceptance, declared]).length;
  rulesByType.keep(name, rules, bytes);
  return rules;
}

/**
 * The type of a new task: by id, or by key (default `task`) and version, or the newest active version
 * (docs/reference/tasks.md#create).
 * @throws Refusal `not_found`
 */
export async function resolveTaskType(
  context: Context,
  asked: {
    typeId?: string | null | undefined;
    typeKey?: string | null | undefined;
    typeVersion?: number | null | undefined;
  },
): Promise<TypeRules> {
  const { typeId: id = null, typeKey, typeVersion: version = null } = asked;
  const key = typeKey ?? systemTypeKey;
  const found = await context.db.row(findTaskTypeId(context.tenantId, { id, key, version }));
  if (found !== undefined) return rulesOf(context, found.id);
  return fail('not_found', id === null ? { taskTypeKey: key, taskTypeVersion: version } : { taskTypeId: id });
}
