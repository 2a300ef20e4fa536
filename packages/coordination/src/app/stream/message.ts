import type { JournalPosition } from '../../ledger/journal/cursor.ts';
import { type EventRow, eventOf } from '../../ledger/journal/event.ts';

/** An event on its way to streams. It is encoded at its first use, once for all of them. */
export interface StreamMessage extends JournalPosition {
  readonly type: string;
  bytes(): Buffer;
}

export function messageOf(row: EventRow): StreamMessage {
  let encoded: Buffer | undefined;
  return {
    position: row.position,
    sequence: row.sequence,
    type: row.type,
    bytes() {
      encoded ??= Buffer.from(JSON.stringify(eventOf(row)));
      return encoded;
    },
  };
}
