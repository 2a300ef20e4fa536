import type { JournalEvent } from '@baton/sdk';
import { baton } from '../client.ts';

/** The event of a new task doesn't name the assignee, so new tasks are looked up together. */
const gatherMs = 2_000;
const createdMax = 500;
const newestMax = 50;

/** Finds the tasks that others assign to a person, by the journal's events. */
export class Assignments {
  readonly #personId: string;
  readonly #tell: (assigned: { readonly taskId: string; readonly key: string }) => void;
  /** Tasks that others have created and that haven't been looked up yet. The oldest are dropped. */
  readonly #created = new Set<string>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isStopped = false;

  constructor(personId: string, tell: (assigned: { taskId: string; key: string }) => void) {
    this.#personId = personId;
    this.#tell = tell;
  }

  /** Takes an event that somebody else caused. */
  take({ type, id, entityId, payload }: JournalEvent): void {
    if (type === 'task.updated') {
      const { changes } = payload as { changes?: { assigneeId?: unknown } };
      if (changes?.assigneeId === this.#personId) this.#tell({ taskId: entityId, key: id });
    } else if (type === 'task.created') {
      this.#created.add(entityId);
      for (const oldest of this.#created) if (this.#created.size > createdMax) this.#created.delete(oldest);
      this.#timer ??= setTimeout(() => void this.#look(), gatherMs);
    }
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    this.#created.clear();
  }

  async #look(): Promise<void> {
    const created = new Set(this.#created);
    this.#created.clear();
    const query = { assigneeId: this.#personId, limit: newestMax };
    const { items } = await baton.tasks.list(query).catch(() => ({ items: [] }));
    if (this.#isStopped) return;
    this.#timer = undefined;
    for (const { id } of items) if (created.has(id)) this.#tell({ taskId: id, key: id });
    // Some were created during the request.
    if (this.#created.size > 0) this.#timer = setTimeout(() => void this.#look(), gatherMs);
  }
}
