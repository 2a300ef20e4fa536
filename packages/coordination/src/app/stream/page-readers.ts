import { Limiter } from './limiter.ts';

/**
 * The number of streams that may read pages of the journal at once: many new ones must leave connections for requests.
 */
const readsMax = 4;
/**
 * The maximum number of bytes that all page-reading streams may have queued; the queues of following streams share the
 * same buffers.
 */
const totalBytesMax = 256 * 1024 * 1024;
export const queuedBytesMin = 64 * 1024;

/** The streams of this process that lag and read by pages. */
export class PageReaders {
  readonly #reads = new Limiter(readsMax);
  #count = 0;

  enter(): void {
    this.#count += 1;
  }

  leave(): void {
    this.#count -= 1;
  }

  /**
   * The maximum number of bytes that may be queued for each of them: less than `most`, down to 64 KiB, if there are
   * many streams.
   */
  queuedBytesMax(most: number): number {
    return Math.max(queuedBytesMin, Math.min(most, totalBytesMax / Math.max(1, this.#count)));
  }

  /** Waits for a turn and reads; tenants take turns. */
  run<T>(tenantId: string, read: () => Promise<T>): Promise<T> {
    return this.#reads.run(tenantId, read);
  }
}
