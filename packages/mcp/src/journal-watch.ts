import { setTimeout as sleep } from 'node:timers/promises';
import { type BatonClient, BatonError, type JournalEvent } from '@baton/sdk';

/** What one client may listen for at a time. */
export const listenedMax = 20;

export const journalUri = 'baton://journal';
/** In `_meta` of a notification: `baton://journal/{cursor}` holds what has happened since. */
export const cursorKey = 'baton/cursor';

export interface Change {
  readonly uri: string;
  readonly cursor: string;
}

/** Changes are told this far apart at least: what happens meanwhile is told as one. */
const tellEveryMs = 1_000;

/**
 * Tells one client which of the resources that it listens for have changed, from the journal. The journal is followed
 * while somebody listens, and no longer.
 */
export class JournalWatch {
  readonly #baton: BatonClient;
  readonly #tell: (change: Change) => void;
  /** The addresses that each listener wants, by the object that they are about: a task's id, or the journal. */
  readonly #listeners = new Map<symbol, ReadonlyMap<string, readonly string[]>>();
  readonly #changed = new Set<string>();
  #following: AbortController | undefined;
  /** Up to where changes were told, and up to where they are known. */
  #told = '';
  #known = '';

  constructor(baton: BatonClient, tell: (change: Change) => void) {
    this.#baton = baton;
    this.#tell = tell;
  }

  get isListening(): boolean {
    return this.#listeners.size > 0;
  }

  /**
   * Listens for the journal, and for tasks with their runs, claims and approvals; other addresses are passed over.
   * @returns ends it
   * @throws BatonError when Baton refuses or is away
   */
  async listen(uris: readonly string[]): Promise<() => void> {
    const listener = Symbol('listener');
    const wanted = new Map<string, string[]>();
    for (const uri of uris.slice(0, listenedMax)) {
      const about = await this.#aboutOf(uri);
      if (about !== undefined) wanted.set(about, [...(wanted.get(about) ?? []), uri]);
    }
    if (wanted.size === 0) return () => undefined;
    // From before the answer on, so that nothing is missed between it and the first event.
    if (this.#following === undefined) await this.#follow();
    this.#listeners.set(listener, wanted);
    return () => {
      this.#listeners.delete(listener);
      if (!this.isListening) this.close();
    };
  }

  close(): void {
    this.#following?.abort();
    this.#following = undefined;
    this.#changed.clear();
  }

  async #aboutOf(uri: string): Promise<string | undefined> {
    if (uri === journalUri) return uri;
    const [, ref] = /^baton:\/\/task\/([\w-]{1,64})$/.exec(uri) ?? [];
    if (ref === undefined) return undefined;
    try {
      return (await this.#baton.tasks.get(ref)).id;
    } catch (error) {
      if (error instanceof BatonError && [403, 404, 422].includes(error.status)) return undefined;
      throw error;
    }
  }

  async #follow(): Promise<void> {
    const following = new AbortController();
    this.#following = following;
    const { signal } = following;
    try {
      const { nextCursor } = await this.#baton.events.list({ tail: 1 }, { signal });
      this.#told = this.#known = nextCursor;
    } catch (error) {
      this.close();
      throw error;
    }
    void this.#collect(signal).catch(() => {
      // What Baton refuses from now on: the next listener begins anew.
      if (this.#following === following) this.close();
    });
    void this.#tellChanges(signal);
  }

  async #collect(signal: AbortSignal): Promise<void> {
    for await (const event of this.#baton.events.follow({ cursor: this.#known, signal })) {
      this.#known = event.cursor;
      this.#changed.add(journalUri);
      const task = taskOf(event);
      if (task !== undefined) this.#changed.add(task);
    }
  }

  async #tellChanges(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await sleep(tellEveryMs, undefined, { signal, ref: false }).catch(() => undefined);
      if (signal.aborted || this.#changed.size === 0) continue;
      const uris = new Set([...this.#listeners.values()].flatMap((wanted) => this.#urisOf(wanted)));
      this.#changed.clear();
      for (const uri of uris) this.#tell({ uri, cursor: this.#told });
      this.#told = this.#known;
    }
  }

  #urisOf(wanted: ReadonlyMap<string, readonly string[]>): string[] {
    return [...wanted].flatMap(([about, uris]) => (this.#changed.has(about) ? uris : []));
  }
}

/** The task that an event is about: its own, or that of its run, claim or approval. */
function taskOf({ entityType, entityId, payload }: JournalEvent): string | undefined {
  if (entityType === 'task') return entityId;
  return typeof payload.taskId === 'string' ? payload.taskId : undefined;
}
