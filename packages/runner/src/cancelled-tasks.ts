import { createHash } from 'node:crypto';
import type { Task } from '@baton/sdk';

/** Below the 500 tasks of which the SDK chooses one, so that one that is not left out is among them. */
const cancelledTasksMax = 400;

/**
 * The tasks on which somebody cancelled this runner's run, each with its content at that time, of types without a status of the category
 * `blocked`: nothing at the service holds these back. They are left out until somebody changes them. Of more than 400 the oldest is
 * forgotten.
 */
export class CancelledTasks {
  readonly #saidById = new Map<string, string | undefined>();

  get isEmpty(): boolean {
    return this.#saidById.size === 0;
  }

  /** Leaves the task out whatever it says: its end is being written, and it may be free before the answer is here. */
  hold(id: string): void {
    this.#put(id, undefined);
  }

  /** @param task as it was when its run had ended */
  add(task: Task): void {
    this.#put(task.id, saidBy(task));
  }

  forget(id: string): void {
    this.#saidById.delete(id);
  }

  isLeftOut(task: Task): boolean {
    if (!this.#saidById.has(task.id)) return false;
    const said = this.#saidById.get(task.id);
    if (said === undefined || said === saidBy(task)) return true;
    this.forget(task.id);
    return false;
  }

  #put(id: string, said: string | undefined): void {
    this.forget(id);
    this.#saidById.set(id, said);
    const [oldest] = this.#saidById.keys();
    if (this.#saidById.size > cancelledTasksMax && oldest !== undefined) this.forget(oldest);
  }
}

/** What people change, and no attempt: each raises `version`. As a hash, because a description may be long. */
function saidBy(task: Task): string {
  const { title, description, status, priority, ownerId, assigneeId, workspaceId, typeId } = task;
  const { customFields, startDate, dueDate, goalId, acceptance } = task;
  const said = [title, description, status, priority, ownerId, assigneeId, workspaceId, typeId];
  const more = [customFields, startDate, dueDate, goalId, acceptance];
  return createHash('sha256')
    .update(JSON.stringify([...said, ...more]))
    .digest('base64');
}
