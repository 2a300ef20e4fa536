/** Requests to services whose addresses come from the operator's own settings: these are trusted (core, section 24). */

/** No answer came in time, or none that can be read. The message names no header and no body. */
export class RequestFailed extends Error {
  override readonly name = 'RequestFailed';
  /** Whether the time ran out: the request may have been done all the same. */
  readonly isLate: boolean;

  constructor(message: string, { isLate = false, ...options }: ErrorOptions & { isLate?: boolean } = {}) {
    super(message, options);
    this.isLate = isLate;
  }
}

export interface JsonRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** A body that is JSON already, instead of `body`. */
  readonly text?: string;
  /** From the first byte of the request to the last of the answer. */
  readonly timeoutMs: number;
  readonly answerBytesMax: number;
  /** Gives the request up before its time. */
  readonly signal?: AbortSignal;
}

export interface JsonAnswer {
  readonly status: number;
  /** Undefined where the body is no JSON. */
  readonly json: unknown;
  /** What `Retry-After` asks for, in seconds; undefined without one, and for a date. */
  readonly retryAfterSeconds: number | undefined;
}

/**
 * Sends a request and reads its answer, whatever the status. Redirects are not followed: what is sent may hold a credential.
 * @throws RequestFailed
 */
export async function requestJson(url: string, request: JsonRequest): Promise<JsonAnswer> {
  const { method, headers, body, timeoutMs, answerBytesMax, signal } = request;
  const text = request.text ?? (body === undefined ? undefined : JSON.stringify(body));
  const late = AbortSignal.timeout(timeoutMs);
  try {
    const response = await fetch(url, {
      method,
      redirect: 'manual',
      signal: signal === undefined ? late : AbortSignal.any([late, signal]),
      headers: {
        accept: 'application/json',
        'accept-encoding': 'identity',
        ...(text !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(text !== undefined && { body: text }),
    });
    const answer = await readText(response, answerBytesMax);
    return {
      status: response.status,
      json: parsed(answer),
      retryAfterSeconds: secondsIn(response.headers.get('retry-after')),
    };
  } catch (error) {
    if (error instanceof RequestFailed) throw error;
    const isLate = late.aborted;
    throw new RequestFailed(isLate ? `no answer within ${timeoutMs} ms` : failureOf(error), {
      cause: error,
      isLate,
    });
  }
}

async function readText(response: Response, bytesMax: number): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  // Leaving the loop cancels the rest of the body.
  for await (const chunk of response.body ?? []) {
    bytes += (chunk as Uint8Array).byteLength;
    if (bytes > bytesMax) throw new RequestFailed(`the answer is longer than ${bytesMax} bytes`);
    text += decoder.decode(chunk as Uint8Array, { stream: true });
  }
  return text;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function secondsIn(header: string | null): number | undefined {
  return header !== null && /^\d{1,9}$/.test(header) ? Number(header) : undefined;
}

/** `fetch` says `fetch failed`, and why in its cause. */
function failureOf(error: unknown): string {
  const { code } = ((error as Error).cause ?? {}) as { code?: unknown };
  return typeof code === 'string' ? `the connection failed: ${code}` : 'the connection failed';
}
