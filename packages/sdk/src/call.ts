/** Options of every call. */
export interface CallOptions {
  /** Aborts the call, even between two attempts. */
  readonly signal?: AbortSignal;
  /**
   * The key under which the service executes the call only once. By default, the client generates a key before the
   * first attempt.
   */
  readonly idempotencyKey?: string;
  /**
   * Timeout for all attempts together in milliseconds; defaults to the client's setting (60,000). For uploads and
   * downloads of raw bytes, it includes the transfer.
   */
  readonly deadlineMs?: number;
  /** The maximum number of attempts; defaults to the client's setting (5). 1 disables retries. */
  readonly attempts?: number;
  /**
   * Called before each attempt, when the access token is available. If it throws, the call ends and nothing is sent.
   */
  readonly beforeAttempt?: () => void;
}

/** Options of a call that changes one version of an object. */
export interface Matched {
  /** The ETag that was read: `etagOf(answer)`. Any other version is rejected with `version_conflict`. */
  readonly ifMatch: string;
}

/** Raw bytes. A stream can be sent only once, so such a call is not retried. */
export type RawBody = string | Uint8Array<ArrayBuffer> | Blob | ReadableStream<Uint8Array<ArrayBuffer>>;

/** A response that is not JSON. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  readonly body: ReadableStream<Uint8Array<ArrayBuffer>> | null;
  text(): Promise<string>;
  arrayBuffer(): Promise<ArrayBuffer>;
}

/** When awaited, a page; when iterated, all items on it and on the pages after it. */
export interface Paged<Page, Item> extends Promise<Page>, AsyncIterable<Item> {}
