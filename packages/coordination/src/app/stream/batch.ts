import type { JournalPosition } from '../../ledger/journal/cursor.ts';
import type { StreamMessage } from './message.ts';

/** Whole frames that are written at once. */
export interface Part {
  readonly bytes: Buffer;
  /** The cursor of its last event. */
  readonly last: JournalPosition;
}

/** The events that a stream subscribes to: prefixes of their types; undefined for all. */
export type TypePrefixes = readonly string[] | undefined;

/** One write per event cost three times as much as one write per 64 KiB. */
export const partBytesMax = 64 * 1024;
/**
 * The number of filters whose joined copies are shared by all their streams. Streams with rarer filters write single
 * frames.
 */
const filtersMax = 16;

/** The next events of a tenant, in order, for all streams that follow. */
export class Batch {
  readonly messages: readonly StreamMessage[];
  /** The position up to which the batch is complete. */
  readonly through: JournalPosition;
  readonly #parts = new Map<string, readonly Part[]>();

  constructor(messages: readonly StreamMessage[], through: JournalPosition) {
    this.messages = messages;
    this.through = through;
  }

  /** The parts of the batch for a stream with this filter. */
  parts(typePrefixes: TypePrefixes): readonly Part[] {
    const name = typePrefixes?.join() ?? '';
    const known = this.#parts.get(name);
    if (known !== undefined) return known;
    const wanted = messagesOf(this.messages, typePrefixes);
    if (typePrefixes !== undefined && this.#parts.size >= filtersMax) return singleParts(wanted);
    const parts = joinFrames(wanted);
    this.#parts.set(name, parts);
    return parts;
  }
}

export function messagesOf(
  messages: readonly StreamMessage[],
  typePrefixes: TypePrefixes,
): readonly StreamMessage[] {
  if (typePrefixes === undefined) return messages;
  return messages.filter(({ type }) => typePrefixes.some((prefix) => type.startsWith(prefix)));
}

/** Each frame separately, without a copy. */
export function singleParts(messages: readonly StreamMessage[]): readonly Part[] {
  return messages.map((message) => ({ bytes: message.frame, last: message }));
}

/** Frames joined up to 64 KiB; a larger one stays separate. */
export function joinFrames(messages: readonly StreamMessage[]): readonly Part[] {
  const parts: Part[] = [];
  let frames: Buffer[] = [];
  let bytes = 0;
  for (const [at, message] of messages.entries()) {
    frames.push(message.frame);
    bytes += message.frame.length;
    const next = messages[at + 1];
    if (next !== undefined && bytes + next.frame.length <= partBytesMax) continue;
    parts.push({ bytes: frames.length === 1 ? message.frame : Buffer.concat(frames, bytes), last: message });
    frames = [];
    bytes = 0;
  }
  return parts;
}
