import { setTimeout as sleep } from 'node:timers/promises';
import type { Db } from '@baton/kernel/database/db';
import { type EventMark, findMarksAfter, findSettledSequence } from './journal.sql.ts';

/**
 * The interval between polls of the journal while a reader waits. NOTIFY would be quicker, but a commit with it takes a
 * lock over the whole cluster, and listening needs a separate connection that no pooler shares. Four small statements
 * per second, for all readers of a process together, cost less.
 */
const lookEveryMs = 250;
/** Readers beyond this number get an immediate response. */
const readersMax = 1000;
const marksPerLookMax = 500;

export interface WaitOrder {
  tenantId: string | undefined;
  type: string | undefined;
  /** The number up to which the reader has received everything. */
  readTo: number;
  waitMs: number;
  /** Calls `listener` when the client has disconnected. */
  whenGone(listener: () => void): void;
}

interface Reader extends Pick<WaitOrder, 'tenantId' | 'type'> {
  readTo: number;
  wake(mayRead: boolean): void;
}

/** Lets readers of the journal wait for events of any process, without holding a pooled connection. */
export class JournalWatch {
  readonly #db: Db;
  readonly #readers = new Set<Reader>();
  #looking: Promise<void> | undefined;
  #isClosed = false;

  constructor(db: Db) {
    this.#db = db;
  }

  get waiting(): number {
    return this.#readers.size;
  }

  /**
   * @returns whether there may be new events; false after `waitMs`, when the client has disconnected, or when
   * the service stops
   */
  wait({ tenantId, type, readTo, waitMs, whenGone }: WaitOrder): Promise<boolean> {
    if (this.#isClosed || this.#readers.size >= readersMax) return Promise.resolve(false);
    return new Promise((resolve) => {
      const wake = (mayRead: boolean) => {
        clearTimeout(timer);
        this.#readers.delete(reader);
        resolve(mayRead);
      };
      const timer = setTimeout(() => wake(false), waitMs);
      const reader: Reader = { tenantId, type, readTo, wake };
      this.#readers.add(reader);
      whenGone(() => wake(false));
      this.#looking ??= this.#look();
    });
  }

  /** Wakes every waiting reader, so that it responds before the service stops. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#wakeAll(false);
    await this.#looking;
  }

  async #look(): Promise<void> {
    while (this.#readers.size > 0) {
      await sleep(lookEveryMs);
      // On an error, every reader wakes up and reads for itself, and so returns its own error.
      await this.#wakeReadersWithEvents().catch(() => this.#wakeAll(true));
    }
    this.#looking = undefined;
  }

  async #wakeReadersWithEvents(): Promise<void> {
    const settled = (await this.#db.row(findSettledSequence()))?.settled ?? 0;
    for (;;) {
      const behind = [...this.#readers].filter(({ readTo }) => readTo < settled);
      if (behind.length === 0) return;
      const after = Math.min(...behind.map(({ readTo }) => readTo));
      const marks = await this.#db.rows(findMarksAfter(after, settled, marksPerLookMax));
      const last = marks.length < marksPerLookMax ? settled : (marks.at(-1)?.sequence ?? settled);
      for (const reader of behind) {
        if (marks.some((mark) => isFor(reader, mark))) reader.wake(true);
        else reader.readTo = Math.max(reader.readTo, last);
      }
    }
  }

  #wakeAll(mayRead: boolean): void {
    for (const reader of this.#readers) reader.wake(mayRead);
  }
}

function isFor({ readTo, tenantId, type }: Reader, mark: EventMark): boolean {
  return (
    mark.sequence > readTo &&
    (tenantId === undefined || mark.tenant_id === tenantId) &&
    (type === undefined || mark.type === type)
  );
}
