import { createHash } from 'node:crypto';
import type { Task } from '@baton/sdk';

/** Fewer than the 500 tasks that the SDK selects from, so that they include one that is not excluded. */
const cancelledTasksMax = 400;

/**
 * Tasks whose run of this runner was cancelled, with a hash of their content at that time, of types without a status of
 * the category `blocked`: the service would offer these again. They are excluded until they change. Beyond 400, the
 * oldest is dropped.
 */
export class CancelledTasks {
  readonly #saidById = new Map<string, string | undefined>();

  get isEmpty(): boolean {
    return this.#saidById.size === 0;
  }

  /** Excludes the task with any content: its end is being written, and it may be free before the response arrives. */
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

/** A hash of the fields that people change but attempts don't; `version` won't do, because attempts increase it, too. */
function saidBy(task: Task): string {
  const { title, description, status, priority, ownerId, assigneeId, workspaceId, typeId } = task;
  const { customFields, startDate, dueDate, goalId, acceptance } = task;
  const said = [title, description, status, priority, ownerId, assigneeId, workspaceId, typeId];
  const more = [customFields, startDate, dueDate, goalId, acceptance];
  return createHash('sha256')
    .update(JSON.stringify([...said, ...more]))
    .digest('base64');
}
