import type { IncomingMessage } from 'node:http';

/** Why a body is rejected; the rest of it is not read. */
export type BodyRefusal = 'too_long' | 'busy' | 'full' | 'not_a_message';

interface BodyBounds {
  /** The maximum size of one body, in bytes. */
  readonly bodyBytesMax: number;
  /** The maximum total size of one principal's bodies in memory, in bytes. */
  readonly principalBytesMax: number;
  /** The maximum total size of all bodies in memory, in bytes. */
  readonly bytesMax: number;
}

/**
 * The limits for the values and levels of one message. The arguments of a tool have at most 1,000 values. Validating
 * 150,000 values in 1.7 MB took 480 ms.
 */
const valuesMax = 4_000;
const levelsMax = 64;

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const opening = new Set([0x5b, 0x7b]);
const closing = new Set([0x5d, 0x7d]);

/** Reads the bodies of requests within memory limits, per principal and in total. */
export class Bodies {
  readonly #bounds: BodyBounds;
  readonly #bytesOf = new Map<string, number>();
  #bytes = 0;

  constructor(bounds: BodyBounds) {
    this.#bounds = bounds;
  }

  /**
   * Reads a body, and counts it until `done` is called. The port sets the timeout.
   * @returns the reason why it was rejected, or the bytes
   */
  async read(req: IncomingMessage, principalId: string, done: AbortSignal): Promise<Buffer | BodyRefusal> {
    if (Number(req.headers['content-length'] ?? 0) > this.#bounds.bodyBytesMax) return 'too_long';
    let bytes = 0;
    const chunks: Buffer[] = [];
    done.addEventListener('abort', () => this.#count(principalId, -bytes), { once: true });
    // A rejected request still gets a response, so the connection must stay open.
    for await (const chunk of req.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      const refusal = this.#refusalOf(this.#count(principalId, chunk.length), bytes);
      if (refusal !== undefined) return refusal;
      chunks.push(chunk);
    }
    return Buffer.concat(chunks, bytes);
  }

  #refusalOf(bytesOfPrincipal: number, bytes: number): BodyRefusal | undefined {
    const { bodyBytesMax, principalBytesMax, bytesMax } = this.#bounds;
    if (bytes > bodyBytesMax) return 'too_long';
    if (bytesOfPrincipal > principalBytesMax) return 'busy';
    return this.#bytes > bytesMax ? 'full' : undefined;
  }

  #count(principalId: string, bytes: number): number {
    const sum = (this.#bytesOf.get(principalId) ?? 0) + bytes;
    if (sum === 0) this.#bytesOf.delete(principalId);
    else this.#bytesOf.set(principalId, sum);
    this.#bytes += bytes;
    return sum;
  }
}

/**
 * One JSON-RPC message. A batch (only in protocol version 2025-03-26) is refused, because the limits would count it as
 * one request although it can contain a hundred calls to Baton. The message's values are counted before it is parsed.
 */
export function messageIn(body: Buffer): Record<string, unknown> | 'not_a_message' {
  if (!isSmall(body)) return 'not_a_message';
  try {
    const message: unknown = JSON.parse(body.toString('utf8'));
    const isMessage = typeof message === 'object' && message !== null && !Array.isArray(message);
    return isMessage ? (message as Record<string, unknown>) : 'not_a_message';
  } catch {
    return 'not_a_message';
  }
}

function isSmall(body: Buffer): boolean {
  let values = 0;
  let levels = 0;
  for (let at = 0; at < body.length; at += 1) {
    const byte = body[at] as number;
    if (byte === quote) at = endOfText(body, at);
    else if (byte === comma) values += 1;
    else if (opening.has(byte)) {
      values += 1;
      levels += 1;
    } else if (closing.has(byte)) levels -= 1;
    if (values > valuesMax || levels > levelsMax) return false;
  }
  return true;
}

/** Returns the end of the string that begins here. */
function endOfText(body: Buffer, start: number): number {
  for (let end = body.indexOf(quote, start + 1); end !== -1; end = body.indexOf(quote, end + 1)) {
    let escapes = 0;
    while (body[end - 1 - escapes] === backslash) escapes += 1;
    if (escapes % 2 === 0) return end;
  }
  return body.length;
}
