import type { Task } from '@baton/sdk';

/** Sends the input of a task page's form. Every completion on the page does this first. */
type Send = () => Promise<Task>;

const forms = new Map<string, Send>();

/** Registers the form of a task while it is mounted. @returns a function that unregisters it */
export function registerForm(taskId: string, send: Send): () => void {
  forms.set(taskId, send);
  return () => {
    if (forms.get(taskId) === send) forms.delete(taskId);
  };
}

/**
 * Sends the answers in the form of a task.
 * @returns the updated task; the given one if its form is not shown
 * @throws BatonError if they are rejected or the form is invalid
 */
export async function sendAnswers(task: Task): Promise<Task> {
  return (await forms.get(task.id)?.()) ?? task;
}
