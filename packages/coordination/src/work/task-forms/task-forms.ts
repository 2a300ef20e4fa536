import type { Json, JsonObject } from '@baton/kernel/wire';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import type { TaskRow } from '../tasks/task.ts';
import type { TaskRef } from '../tasks/task-ref.ts';
import { getTaskRow } from '../tasks/tasks.ts';
import { faultsOfForm, valuesForForm } from './form-values.ts';
import type { TaskForm } from './task-form.ts';
import { findStepName } from './task-forms.sql.ts';

/** The step that a task belongs to. */
interface Step {
  readonly process: NonNullable<TaskForm['process']>;
  readonly form: JsonObject | null;
  readonly context: JsonObject;
}

type OfStep = Pick<TaskRow, 'id' | 'origin' | 'custom_fields'>;

const stepId = /^process\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:\/(.+))?$/;

/** The form of a task of a process step, and whether the task's custom fields satisfy it. @throws Refusal `not_found` */
export async function getTaskForm(context: Context, ref: TaskRef): Promise<TaskForm> {
  const task = await getTaskRow(context, ref);
  const step = await findStep(context, task);
  const { process = null, form = null, context: given = {} } = step ?? {};
  const values = step === undefined ? {} : valuesForForm(form, task.custom_fields);
  const errors = faultsOfForm(form, values);
  return { taskId: task.id, publicId: task.public_id, process, form, context: given, values, errors };
}

/**
 * Validates the result of a process step, which its process reads from the task's custom fields.
 * @throws Refusal `custom_fields_invalid` {taskId, errors}
 */
export async function requireFormFits(context: Context, task: OfStep): Promise<void> {
  const step = await findStep(context, task);
  if (step === undefined) return;
  const errors = faultsOfForm(step.form, valuesForForm(step.form, task.custom_fields));
  if (errors.length > 0) fail('custom_fields_invalid', { taskId: task.id, errors });
}

/** Undefined for a task that no process filed. Any client may write the origin of its task, so the name decides. */
async function findStep({ db, tenantId }: Context, { id, origin }: OfStep): Promise<Step | undefined> {
  if (origin.kind !== 'process') return undefined;
  const name = await db.row(findStepName(tenantId, id));
  const [, instanceId, element = null] = stepId.exec(name?.external_id ?? '') ?? [];
  if (name === undefined || instanceId === undefined) return undefined;
  const { form, context } = name.metadata;
  return { process: { instanceId, element }, form: objectOr(form, null), context: objectOr(context, {}) };
}

function objectOr<Other>(value: Json | undefined, other: Other): JsonObject | Other {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : other;
}
