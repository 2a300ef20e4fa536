import type { Task } from '@baton/sdk';

/** The input in the form of a task's page. A completion sends it first, from wherever on the page it is requested. */
type Send = () => Promise<Task>;

const forms = new Map<string, Send>();

/** Registers the form of a task while it is shown. @returns what ends that */
export function registerForm(taskId: string, send: Send): () => void {
  forms.set(taskId, send);
  return () => {
    if (forms.get(taskId) === send) forms.delete(taskId);
  };
}

/**
 * Sends the answers in the form of a task.
 * @returns the task as it is then; the given one where its form is not shown
 * @throws BatonError where they are refused, or the form has a fault
 */
export async function sendAnswers(task: Task): Promise<Task> {
  return (await forms.get(task.id)?.()) ?? task;
}
