import { faultsOfForm, valuesForForm } from '@baton/process-engine/forms/form-values';
import type { Context } from '../context.ts';
import { findTaskStep } from '../tasks/step-forms/step-forms.ts';
import type { TaskRef } from '../tasks/task-ref.ts';
import { getTaskRow } from '../tasks/tasks.ts';
import type { TaskForm } from './task-form.ts';

/** The form of a process step's task, and whether the task's custom fields match it. @throws Refusal `not_found` */
export async function getTaskForm(context: Context, ref: TaskRef): Promise<TaskForm> {
  const task = await getTaskRow(context, ref);
  const step = await findTaskStep(context, task);
  const { process = null, form = null, context: given = {} } = step ?? {};
  const values = step === undefined ? {} : valuesForForm(form, task.custom_fields);
  const errors = faultsOfForm(form, values);
  return { taskId: task.id, publicId: task.public_id, process, form, context: given, values, errors };
}
