import type { JournalPosition } from '../../ledger/journal/cursor.ts';
import { isBehind } from '../../ledger/journal/read-pages.ts';
import type { Batch } from './batch.ts';
import type { StreamMessage } from './message.ts';

const messagesMax = 600;

/**
 * The newest messages of a tenant, so that streams that reach the end slightly later need not read the database again.
 */
export class KeptMessages {
  #messages: StreamMessage[] = [];
  #bytes = 0;
  /** All events from this position to `through` are kept. */
  #from: JournalPosition;
  #through: JournalPosition;

  constructor(from: JournalPosition) {
    this.#from = from;
    this.#through = from;
  }

  get through(): JournalPosition {
    return this.#through;
  }

  add({ messages, through }: Batch, bytesMax: number): void {
    this.#through = through;
    for (const message of messages) {
      this.#messages.push(message);
      this.#bytes += message.frame.length;
    }
    let gone = 0;
    while (this.#messages.length - gone > messagesMax || this.#bytes > bytesMax) {
      this.#bytes -= this.#messages[gone]?.frame.length ?? 0;
      gone += 1;
    }
    const last = this.#messages[gone - 1];
    if (last === undefined) return;
    this.#from = { position: last.position, sequence: last.sequence };
    this.#messages = this.#messages.slice(gone);
  }

  holdsFrom(at: JournalPosition): boolean {
    return !isBehind(this.#from, at);
  }

  /** Whether the position is that of a kept event, or one from which the reader itself continued. */
  knows(at: JournalPosition): boolean {
    if (isSame(at, this.#through) || isSame(at, this.#from)) return true;
    const before = this.#messages[this.#indexAfter(at) - 1];
    return before !== undefined && isSame(at, before);
  }

  after(at: JournalPosition): readonly StreamMessage[] {
    return this.#messages.slice(this.#indexAfter(at));
  }

  /** The index of the first message after a position. */
  #indexAfter(at: JournalPosition): number {
    let [low, high] = [0, this.#messages.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (isBehind(this.#messages[middle] as StreamMessage, at)) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}

function isSame(left: JournalPosition, right: JournalPosition): boolean {
  return left.position === right.position && left.sequence === right.sequence;
}
