import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';

/** An object in a content store. Both parts are generated, never taken from a request. */
export interface ContentName {
  readonly tenantId: string;
  readonly id: string;
}

/** What identifies an object's bytes. */
export interface ContentFacts {
  readonly sizeBytes: number;
  /** 64 hexadecimal digits. */
  readonly sha256: string;
}

/**
 * The store for artifact contents: a folder, or an S3-compatible store. Each object is written once under a unique
 * name, so writes and deletions never conflict.
 */
export interface ContentStore {
  /**
   * Writes an object; resolves when the object is durable. Streams the bytes without buffering all of them.
   * @throws ContentStoreFailed, and errors of `bytes`; a part that has been written remains until `remove` is called
   */
  write(name: ContentName, bytes: AsyncIterable<Buffer>): Promise<ContentFacts>;
  /**
   * Opens an object; resolves when its first byte can be read. The reader destroys the stream.
   * @throws ContentStoreFailed, also for an object that is absent or has the wrong size
   */
  open(name: ContentName, sizeBytes: number): Promise<Readable>;
  /** Removes an object, whole or in part; succeeds for an absent one. @throws ContentStoreFailed */
  remove(name: ContentName): Promise<void>;
  /** Checks that the store is reachable. @throws ContentStoreFailed */
  probe(): Promise<void>;
  /** Closes idle connections. */
  close(): void;
}

/** The store is unreachable or full, refuses the request, or has lost an object. */
export class ContentStoreFailed extends Error {}

/** Passes bytes through and computes their length and digest. */
export class Measured {
  #sizeBytes = 0;
  readonly #hash = createHash('sha256');

  take(chunk: Buffer): void {
    this.#sizeBytes += chunk.length;
    this.#hash.update(chunk);
  }

  /** Called once, after the last byte. */
  facts(): ContentFacts {
    return { sizeBytes: this.#sizeBytes, sha256: this.#hash.digest('hex') };
  }
}
