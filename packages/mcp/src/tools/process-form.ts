import { type BatonClient, BatonError, etagOf, type Lease, type Task } from '@baton/sdk';
import { documentFromOthers } from '../others-text.ts';
import { lines } from '../tool.ts';

/**
 * Returns the form that a process step defines for its task, with the values that are already filled in; undefined for
 * a task without one. The service validates the answers when the task is completed.
 */
export async function formText(
  baton: BatonClient,
  { id, publicId, origin }: Task,
  signal: AbortSignal,
): Promise<string | undefined> {
  // Anybody who creates a task can set such an origin; only the form proves that a process created the task.
  if (origin?.kind !== 'process') return undefined;
  const { process, form, context, values } = await baton.tasks.getForm(id, { signal });
  if (process === null || form === null) return undefined;
  return lines(
    `${publicId} is a step of the process instance ${process.instanceId}, which requires the answers to a form: pass them to work_done as fields. It can't be completed without what the form requires.`,
    documentFromOthers('the form, as a JSON Schema, with what the process passes on and what is filled in', {
      form,
      ...(Object.keys(context).length > 0 && { context }),
      ...(Object.keys(values).length > 0 && { values }),
    }),
  );
}

/** A task that isn't completed because its form isn't satisfied, with the form. */
export class UnansweredFormError extends Error {
  override readonly name = 'UnansweredFormError';
  readonly refusal: BatonError;
  readonly form: string;

  constructor(refusal: BatonError, form: string) {
    super(refusal.message, { cause: refusal });
    this.refusal = refusal;
    this.form = form;
  }
}

/**
 * @returns an UnansweredFormError for a completion that was rejected because of its answers; any other error unchanged
 */
export async function withForm(
  error: unknown,
  baton: BatonClient,
  task: Task,
  signal: AbortSignal,
): Promise<unknown> {
  if (!(error instanceof BatonError) || error.code !== 'custom_fields_invalid') return error;
  const form = await formText(baton, task, signal).catch(() => undefined);
  return form === undefined ? error : new UnansweredFormError(error, form);
}

/**
 * Writes answers into the custom fields of a task that this client holds, and keeps the other fields. @throws
 * BatonError, LeaseLostError
 */
export async function writeAnswers(
  baton: BatonClient,
  lease: Lease,
  answers: Record<string, unknown>,
  signal: AbortSignal,
): Promise<void> {
  const task = await baton.tasks.get(lease.task.id, { signal });
  const customFields = { ...task.customFields, ...answers };
  await lease.update({ customFields }, { ifMatch: etagOf(task), signal });
}
