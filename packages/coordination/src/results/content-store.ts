import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';

/** An object in a store of contents. Both parts are made by us, never taken from a request. */
export interface ContentName {
  readonly tenantId: string;
  readonly id: string;
}

/** What the bytes of an object are known by. */
export interface ContentFacts {
  readonly sizeBytes: number;
  /** 64 hexadecimal digits. */
  readonly sha256: string;
}

/**
 * Where the bytes of artifacts are: a folder, or an S3-compatible store. Each object is written once under a name of its
 * own, so no two writers and no deletion ever meet at one name.
 */
export interface ContentStore {
  /**
   * Writes an object; resolves when it would survive a crash. The bytes are taken as they come and never held as a whole.
   * @throws ContentStoreFailed, and whatever `bytes` throws; what was written so far may remain, for `remove`
   */
  write(name: ContentName, bytes: AsyncIterable<Buffer>): Promise<ContentFacts>;
  /**
   * Opens an object; its first byte can be read when this resolves. The reader destroys the stream.
   * @throws ContentStoreFailed, also for an object that is absent or has another size
   */
  open(name: ContentName, sizeBytes: number): Promise<Readable>;
  /** Removes an object, whole or in part; an absent one is no failure. @throws ContentStoreFailed */
  remove(name: ContentName): Promise<void>;
  /** Whether objects could be reached now. @throws ContentStoreFailed */
  probe(): Promise<void>;
  /** Lets go of idle connections. */
  close(): void;
}

/** The store can't be reached, is full, refuses us, or has lost an object. */
export class ContentStoreFailed extends Error {}

/** Passes bytes on and learns their length and digest meanwhile. */
export class Measured {
  #sizeBytes = 0;
  readonly #hash = createHash('sha256');

  take(chunk: Buffer): void {
    this.#sizeBytes += chunk.length;
    this.#hash.update(chunk);
  }

  /** To be asked once, after the last byte. */
  facts(): ContentFacts {
    return { sizeBytes: this.#sizeBytes, sha256: this.#hash.digest('hex') };
  }
}
