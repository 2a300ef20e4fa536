/** What every call takes beside its own arguments. */
export interface CallOptions {
  /** Ends the call, also between two attempts. */
  readonly signal?: AbortSignal;
  /** The key under which the service executes the call once. Without one, the client makes one before the first attempt. */
  readonly idempotencyKey?: string;
  /**
   * Milliseconds for all attempts together; the client's setting (60,000) without it. Of bytes that are sent or answered as
   * they are, all must have gone over by then.
   */
  readonly deadlineMs?: number;
  /** How often the call is tried; the client's setting (5) without it, 1 for never again. */
  readonly attempts?: number;
  /** Called before each attempt, when the access token is there: what it throws ends the call, and nothing is sent. */
  readonly beforeAttempt?: () => void;
}

/** Of a call that changes one version of something. */
export interface Matched {
  /** The ETag that was read: `etagOf(answer)`. Another version is refused with `version_conflict`. */
  readonly ifMatch: string;
}

/** Bytes that are sent as they are. A stream is sent once: such a call is not tried again. */
export type RawBody = string | Uint8Array<ArrayBuffer> | Blob | ReadableStream<Uint8Array<ArrayBuffer>>;

/** An answer that is not JSON. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  readonly body: ReadableStream<Uint8Array<ArrayBuffer>> | null;
  text(): Promise<string>;
  arrayBuffer(): Promise<ArrayBuffer>;
}

/** A page when awaited; all items of it and of the pages after it when iterated. */
export interface Paged<Page, Item> extends Promise<Page>, AsyncIterable<Item> {}
