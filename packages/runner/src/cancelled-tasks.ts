import { createHash } from 'node:crypto';
import type { Task } from '@baton/sdk';

/** Fewer than the 500 tasks that the SDK searches, so that these include at least one that is not excluded. */
const cancelledTasksMax = 400;

/**
 * Tasks that the service would offer again after this runner's run was cancelled, because their type has no status of
 * the category `blocked`. Each is stored with a hash of its content at that time, and excluded until the content
 * changes. Beyond 400 tasks, the oldest is dropped.
 */
export class CancelledTasks {
  readonly #saidById = new Map<string, string | undefined>();

  get isEmpty(): boolean {
    return this.#saidById.size === 0;
  }

  /**
   * Excludes the task whatever its content, while the end of its run is being written: the task may become claimable
   * before the response arrives.
   */
  hold(id: string): void {
    this.#put(id, undefined);
  }

  /**
   * @param task as it is after its run has ended
   */
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

/**
 * A hash of the fields that people change but attempts don't. `version` isn't suitable, because attempts increase it
 * too.
 */
function saidBy(task: Task): string {
  const { title, description, status, priority, ownerId, assigneeId, workspaceId, typeId } = task;
  const { customFields, startDate, dueDate, goalId, acceptance } = task;
  const said = [title, description, status, priority, ownerId, assigneeId, workspaceId, typeId];
  const more = [customFields, startDate, dueDate, goalId, acceptance];
  return createHash('sha256')
    .update(JSON.stringify([...said, ...more]))
    .digest('base64');
}
