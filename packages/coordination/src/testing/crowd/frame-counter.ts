/** The record of one socket: the number of its events, and a digest of their sequences in the order of arrival. */
export interface Counted {
  count: number;
  digest: number;
}

/** The client's handlers for frames other than events. */
export interface ControlFrames {
  ping(payload: Buffer): void;
  close(code: number, reason: string): void;
}

const [text, close, ping] = [1, 8, 9];
/**
 * `{"sequence":` and 16 digits: only this part of an event is parsed, since the clients share the cores with the
 * service.
 */
const lookedAtBytes = 28;
const sequenceAt = '{"sequence":'.length;
const headBytesMax = 10;
const [zero, nine] = [48, 57];

/** Counts an event. Two readers with the same digest have received the same events in the same order. */
export function addSequence(counted: Counted, sequence: number): void {
  counted.count += 1;
  counted.digest = (Math.imul(counted.digest, 31) + sequence) >>> 0;
}

/** Parses the frames of a server without storing them: most of an event is skipped. */
export class FrameCounter {
  readonly counted: Counted = { count: 0, digest: 0 };
  readonly #control: ControlFrames;
  /** The first part of a frame that arrived in two pieces. */
  #piece: Buffer | undefined;
  #skipBytes = 0;

  constructor(control: ControlFrames) {
    this.#control = control;
  }

  /** @throws Error for anything but frames of an event stream */
  add(received: Buffer): void {
    let chunk = received;
    if (this.#piece !== undefined) {
      chunk = Buffer.concat([this.#piece, received]);
      this.#piece = undefined;
    }
    let at = 0;
    for (;;) {
      const skipped = Math.min(this.#skipBytes, chunk.length - at);
      this.#skipBytes -= skipped;
      at += skipped;
      if (at === chunk.length) return;
      const next = this.#readFrame(chunk, at);
      if (next === undefined) {
        this.#piece = chunk.subarray(at);
        return;
      }
      at = next;
    }
  }

  /** @returns the offset at which parsing continues, or undefined if the frame is incomplete */
  #readFrame(chunk: Buffer, at: number): number | undefined {
    const left = chunk.length - at;
    const code = chunk.readUInt8(at) & 0x0f;
    if (left < 2) return undefined;
    const short = chunk.readUInt8(at + 1);
    const headBytes = short < 126 ? 2 : short === 126 ? 4 : headBytesMax;
    if (left < headBytes) return undefined;
    const bytes =
      short < 126
        ? short
        : short === 126
          ? chunk.readUInt16BE(at + 2)
          : Number(chunk.readBigUInt64BE(at + 2));
    const from = at + headBytes;
    if (left < headBytes + (code === text ? Math.min(bytes, lookedAtBytes) : bytes)) return undefined;
    if (code === text) {
      addSequence(this.counted, sequenceIn(chunk, from + sequenceAt));
      this.#skipBytes = bytes;
      return from;
    }
    const payload = chunk.subarray(from, from + bytes);
    if (code === ping) this.#control.ping(payload);
    else if (code === close)
      this.#control.close(bytes < 2 ? 1005 : payload.readUInt16BE(0), payload.toString('utf8', 2));
    else throw new Error(`a frame of kind ${code} arrived`);
    return from + bytes;
  }
}

function sequenceIn(chunk: Buffer, from: number): number {
  let sequence = 0;
  for (let at = from; ; at += 1) {
    const digit = chunk[at] ?? 0;
    if (digit < zero || digit > nine) {
      if (at === from) throw new Error(`no event: ${chunk.toString('utf8', from - sequenceAt, from + 40)}`);
      return sequence;
    }
    sequence = sequence * 10 + digit - zero;
  }
}
