import type { JournalPosition } from '../../ledger/journal/cursor.ts';
import { type EventRow, eventOf } from '../../ledger/journal/event.ts';

/** An event to be sent to streams, encoded once for all of them. */
export interface StreamMessage extends JournalPosition {
  readonly type: string;
  /** The whole frame, including its header, as written to each socket. */
  readonly frame: Buffer;
}

export function messageOf(row: EventRow): StreamMessage {
  const { position, sequence, type } = row;
  return { position, sequence, type, frame: textFrame(JSON.stringify(eventOf(row))) };
}

const textMessage = 0x81;
const shortBytesMax = 125;
const mediumBytesMax = 0xffff;

/** A message of one frame as a server sends it: not masked, not compressed (RFC 6455, section 5.2). */
export function textFrame(text: string): Buffer {
  const bytes = Buffer.byteLength(text);
  const headBytes = bytes <= shortBytesMax ? 2 : bytes <= mediumBytesMax ? 4 : 10;
  const frame = Buffer.allocUnsafe(headBytes + bytes);
  frame[0] = textMessage;
  if (headBytes === 2) frame[1] = bytes;
  else if (headBytes === 4) frame.writeUInt16BE(bytes, frame.writeUInt8(126, 1));
  else frame.writeBigUInt64BE(BigInt(bytes), frame.writeUInt8(127, 1));
  frame.write(text, headBytes, 'utf8');
  return frame;
}
