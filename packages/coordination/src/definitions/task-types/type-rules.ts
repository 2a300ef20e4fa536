import type { ValidateFunction } from 'ajv/dist/2020.js';
import type { AcceptanceCheck } from '../acceptance/acceptance.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { compileSchema } from './field-schema.ts';
import type { Lifecycle } from './lifecycle.ts';
import { systemTypeKey } from './system-type.ts';
import type { TypeOutput } from './task-type.ts';
import { findTaskType, findTaskTypeId } from './task-types.sql.ts';

/** The rules of a task type for its tasks. They never change, so they are parsed once per process. */
export interface TypeRules {
  readonly id: string;
  readonly key: string;
  readonly version: number;
  readonly lifecycle: Lifecycle;
  /** Undefined where the type accepts any custom fields. */
  readonly validateFields: ValidateFunction | undefined;
  /** The type's own acceptance checks. */
  readonly acceptance: readonly AcceptanceCheck[];
  /** Keys of the type's own acceptance checks. */
  readonly acceptanceKeys: readonly string[];
  /** The artifacts that a task must have before it counts as done. */
  readonly requiredOutputs: readonly TypeOutput[];
}

const rulesKeptMax = 1000;
const rulesByType = new Map<string, TypeRules>();

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
    lifecycle: row.lifecycle_schema,
    validateFields: compileSchema(row.field_schema),
    acceptance: row.acceptance,
    acceptanceKeys: row.acceptance.map(({ key }) => key),
    requiredOutputs: (row.artifact_schema.outputs ?? []).filter(({ required }) => required === true),
  };
  if (rulesByType.size >= rulesKeptMax) rulesByType.delete(rulesByType.keys().next().value as string);
  rulesByType.set(name, rules);
  return rules;
}

/**
 * The type that a new task names: by id, else by key (default `task`) and version, else the newest active version
 * (core, section 7.2).
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
