import { fixedMark, lineBytesMax } from './protocol.ts';

/** A line that a command printed for the runner, from the mark to its end. */
export interface MarkedLine {
  readonly text: string;
  /** Whether the line begins with the mark. */
  readonly isAtStart: boolean;
  /** Whether the line exceeds the maximum length of a line for the runner; `text` is empty then. */
  readonly isTooLong: boolean;
}

const fixedStart = Buffer.from(`${fixedMark} `);
const lineEnd = 10;

/**
 * Finds the marked lines in the parts of one stream. A random mark counts even in the middle of a line: otherwise, a
 * command that prints text by other authors without a line end could lose its next approval request. The fixed mark,
 * which is publicly known, counts only at the beginning of a line.
 */
export class MarkedLines {
  readonly #start: Buffer;
  #rest: Buffer = Buffer.alloc(0);
  /** Whether the beginning of the line in `#rest` is missing because the line was too long to buffer. */
  #isCut = false;
  /** Whether a marked line was truncated after its mark. */
  #isTooLong = false;

  constructor(mark: string) {
    this.#start = Buffer.from(`${mark} `);
  }

  *take(part: Buffer): Generator<MarkedLine> {
    this.#rest = this.#rest.length === 0 ? part : Buffer.concat([this.#rest, part]);
    for (let end = this.#rest.indexOf(lineEnd); end >= 0; end = this.#rest.indexOf(lineEnd)) {
      const line = this.#rest.subarray(0, end);
      this.#rest = this.#rest.subarray(end + 1);
      yield* this.#in(line);
      this.#isCut = false;
      this.#isTooLong = false;
    }
    if (this.#rest.length > lineBytesMax) this.#cut();
  }

  /** Returns the last line even if it has no line end. */
  *end(): Generator<MarkedLine> {
    yield* this.#in(this.#rest);
  }

  /** Lines without a mark are not decoded, because a command may print millions of them. */
  *#in(line: Buffer): Generator<MarkedLine> {
    const start = this.#startIn(line);
    if (this.#isTooLong || this.#isOwnAndTooLong(line, start))
      yield { text: '', isAtStart: false, isTooLong: true };
    if (start < 0 || line.length - start > lineBytesMax) return;
    const text = line.toString('utf8', start).replace(/\r$/, '');
    yield { text, isAtStart: start === 0 && !this.#isCut, isTooLong: false };
  }

  /** Whether a line with this command's mark is too long. A line with another mark is output. */
  #isOwnAndTooLong(line: Buffer, start: number): boolean {
    return (
      start >= 0 &&
      line.length - start > lineBytesMax &&
      line.subarray(start, start + this.#start.length).equals(this.#start)
    );
  }

  #startIn(line: Buffer): number {
    const isFixed = this.#start.equals(fixedStart);
    const start = isFixed ? -1 : line.indexOf(this.#start);
    if (start >= 0 || this.#isCut) return start;
    return line.subarray(0, fixedStart.length).equals(fixedStart) ? 0 : -1;
  }

  /** Buffers text that begins with the mark, or whose end may be the beginning of a mark. */
  #cut(): void {
    const start = this.#startIn(this.#rest);
    const isShort = start > 0 && this.#rest.length - start <= lineBytesMax;
    this.#isTooLong ||= this.#isOwnAndTooLong(this.#rest, start);
    this.#rest = this.#rest.subarray(isShort ? start : this.#rest.length - this.#start.length);
    this.#isCut = true;
  }
}
