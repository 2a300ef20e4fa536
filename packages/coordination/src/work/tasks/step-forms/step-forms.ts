import { faultsOfForm, valuesForForm } from '@baton/process-engine/forms/form-values';
import type { Json, JsonObject } from '@baton/values/wire';
import type { Origin } from '../../../definitions/acceptance/origin.ts';
import type { Context } from '../../context.ts';
import { fail } from '../../errors.ts';
import { findStepName, type StepNameRow } from './step-forms.sql.ts';
import { parseStepName } from './step-name.ts';

/** The step of a process that a task belongs to. */
interface TaskStep {
  readonly process: { readonly instanceId: string; readonly element: string | null };
  readonly form: JsonObject | null;
  /** The data that the step passes to its task. */
  readonly context: JsonObject;
}

/** The columns of a task that its form needs. */
interface TaskOfStep {
  readonly id: string;
  readonly origin: Origin;
  readonly custom_fields: JsonObject;
}

/**
 * Validates the result of a process step, which its process reads from the task's custom fields.
 * @throws Refusal `custom_fields_invalid` {taskId, errors}
 */
export async function requireFormFits(context: Context, task: TaskOfStep): Promise<void> {
  const step = await findTaskStep(context, task);
  if (step === undefined) return;
  const errors = faultsOfForm(step.form, valuesForForm(step.form, task.custom_fields));
  if (errors.length > 0) fail('custom_fields_invalid', { taskId: task.id, errors });
}

/**
 * The step that a task belongs to; undefined for a task that was not created by a process. The step is identified by
 * the task's name, not by its origin, which any client may set.
 */
export async function findTaskStep(
  context: Context,
  { id, origin }: Pick<TaskOfStep, 'id' | 'origin'>,
): Promise<TaskStep | undefined> {
  if (origin.kind !== 'process') return undefined;
  const name = await getStepName(context, id);
  const process = parseStepName(name?.external_id ?? '');
  if (name === undefined || process === undefined) return undefined;
  const { form, context: passed } = name.metadata;
  return { process, form: objectOr(form, null), context: objectOr(passed, {}) };
}

/**
 * The name that a process step gave a task, with the step's form and context in its metadata; undefined for any other
 * task.
 */
export function getStepName({ db, tenantId }: Context, taskId: string): Promise<StepNameRow | undefined> {
  return db.row(findStepName(tenantId, taskId));
}

function objectOr<Other>(value: Json | undefined, other: Other): JsonObject | Other {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : other;
}
