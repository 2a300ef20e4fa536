/** Requests to services whose addresses come from the operator's own settings, and are therefore trusted. */

/** The response was late, missing or unreadable. The message contains no header and no body. */
export class RequestFailed extends Error {
  override readonly name = 'RequestFailed';
  /** Whether the request timed out: it may have been executed anyway. */
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
  /** A body that is already JSON, instead of `body`. */
  readonly text?: string;
  /** The time allowed from the first byte of the request to the last byte of the response. */
  readonly timeoutMs: number;
  readonly answerBytesMax: number;
  /** Aborts the request before its timeout. */
  readonly signal?: AbortSignal;
}

export interface JsonAnswer {
  readonly status: number;
  /** Undefined if the body is not JSON. */
  readonly json: unknown;
  /** `Retry-After` in seconds; undefined without one, and for a date. */
  readonly retryAfterSeconds: number | undefined;
}

/**
 * Sends a request and reads its response, regardless of the status. Redirects are not followed: the request may contain
 * a credential.
 * @throws RequestFailed
 */
export async function requestJson(url: string, request: JsonRequest): Promise<JsonAnswer> {
  return requestText(url, request, async ({ status, retryAfterSeconds }, chunks) => {
    let text = '';
    for await (const chunk of chunks) text += chunk;
    return { status, json: parsed(text), retryAfterSeconds };
  });
}

/**
 * Like `requestJson`, but for a response that is too long for memory: it is read in chunks.
 * @param read receives the chunks as they arrive, at most `answerBytesMax` in total; the unread rest is cancelled
 * @throws RequestFailed, and errors of `read`
 */
export async function requestText<Result>(
  url: string,
  request: JsonRequest,
  read: (head: Omit<JsonAnswer, 'json'>, chunks: AsyncIterable<string>) => Promise<Result>,
): Promise<Result> {
  const { method, headers, body, timeoutMs, answerBytesMax, signal } = request;
  const text = request.text ?? (body === undefined ? undefined : JSON.stringify(body));
  const late = AbortSignal.timeout(timeoutMs);
  const failed = (error: unknown): RequestFailed => {
    if (error instanceof RequestFailed) return error;
    const message = late.aborted ? `no response within ${timeoutMs} ms` : failureOf(error);
    return new RequestFailed(message, { cause: error, isLate: late.aborted });
  };
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
  }).catch((error: unknown) => {
    throw failed(error);
  });
  const { status } = response;
  const head = { status, retryAfterSeconds: secondsIn(response.headers.get('retry-after')) };
  try {
    return await read(head, chunksOf(response, answerBytesMax, failed));
  } finally {
    if (response.body?.locked === false) await response.body.cancel().catch(() => undefined);
  }
}

async function* chunksOf(
  response: Response,
  bytesMax: number,
  failed: (error: unknown) => RequestFailed,
): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder();
  let bytes = 0;
  try {
    // Leaving the loop cancels the rest of the body.
    for await (const chunk of response.body ?? []) {
      bytes += (chunk as Uint8Array).byteLength;
      if (bytes > bytesMax) throw new RequestFailed(`the answer is longer than ${bytesMax} bytes`);
      yield decoder.decode(chunk as Uint8Array, { stream: true });
    }
  } catch (error) {
    throw failed(error);
  }
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

/** `fetch` fails with `fetch failed`; the reason is its cause. */
function failureOf(error: unknown): string {
  const { code } = ((error as Error).cause ?? {}) as { code?: unknown };
  return typeof code === 'string' ? `the connection failed: ${code}` : 'the connection failed';
}
