import type { JournalPosition } from '../journal/cursor.ts';
import { eventOf } from '../journal/events.ts';
import type { EventRow } from '../journal/reading.ts';

/** An event on its way to sockets: encoded at its first use, and once for all of them. */
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
