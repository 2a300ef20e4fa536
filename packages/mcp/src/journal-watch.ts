import { setTimeout as sleep } from 'node:timers/promises';
import { type BatonClient, BatonError, type JournalEvent } from '@baton/sdk';

/** The maximum number of resources that one client may listen to. */
export const listenedMax = 20;

export const journalUri = 'baton://journal';
/** In `_meta` of a notification: `baton://journal/{cursor}` contains the events since then. */
export const cursorKey = 'baton/cursor';

export interface Change {
  readonly uri: string;
  readonly cursor: string;
}

interface Listener {
  /** The addresses that the client listens to, by their object: a task's id, or the journal. */
  readonly wanted: ReadonlyMap<string, readonly string[]>;
  readonly onRefused: (() => void) | undefined;
}

/** The minimum interval between notifications: changes in between become one notification. */
const tellEveryMs = 1_000;

/**
 * Notifies one client of changes to the resources that it listens to, from the journal. The journal is followed only
 * while there are listeners.
 */
export class JournalWatch {
  readonly #baton: BatonClient;
  readonly #tell: (change: Change) => void;
  readonly #listeners = new Map<symbol, Listener>();
  readonly #changed = new Set<string>();
  #following: AbortController | undefined;
  /** The cursors of the last change that the client was notified of, and of the last known change. */
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
   * Listens to the journal, and to tasks with their runs, claims and approvals; ignores other addresses.
   * @param onRefused called when Baton no longer accepts the client's token
   * @returns a function that stops listening
   * @throws BatonError when Baton rejects the request or is unavailable
   */
  async listen(uris: readonly string[], onRefused?: () => void): Promise<() => void> {
    const listener = Symbol('listener');
    const wanted = new Map<string, string[]>();
    for (const uri of uris.slice(0, listenedMax)) {
      const about = await this.#aboutOf(uri);
      if (about !== undefined) wanted.set(about, [...(wanted.get(about) ?? []), uri]);
    }
    if (wanted.size === 0) return () => undefined;
    // Starts before the response, so that no event after it is missed.
    if (this.#following === undefined) await this.#follow();
    this.#listeners.set(listener, { wanted, onRefused });
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
    void this.#collect(signal).catch((error: unknown) => {
      // Baton rejected the request. The journal is no longer followed; the next listener starts a new attempt.
      if (this.#following !== following) return;
      this.close();
      if (error instanceof BatonError && error.status === 401)
        for (const { onRefused } of this.#listeners.values()) onRefused?.();
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
      const uris = new Set([...this.#listeners.values()].flatMap(({ wanted }) => this.#urisOf(wanted)));
      this.#changed.clear();
      for (const uri of uris) this.#tell({ uri, cursor: this.#told });
      this.#told = this.#known;
    }
  }

  #urisOf(wanted: ReadonlyMap<string, readonly string[]>): string[] {
    return [...wanted].flatMap(([about, uris]) => (this.#changed.has(about) ? uris : []));
  }
}

/** Returns the task of an event: its own, or that of its run, claim or approval. */
function taskOf({ entityType, entityId, payload }: JournalEvent): string | undefined {
  if (entityType === 'task') return entityId;
  return typeof payload.taskId === 'string' ? payload.taskId : undefined;
}
