import type { Db } from '@baton/kernel/database/db';
import type { Logger } from '@baton/kernel/process/log';
import { TenantTail } from './tenant-tail.ts';

interface Used {
  readonly tail: TenantTail;
  /** The number of open streams of the tenant. */
  streams: number;
}

/** The maximum number of bytes of frames that all shared readers of a process may keep. */
const keptBytesTotal = 128 * 1024 * 1024;
const keptBytesMax = 4 * 1024 * 1024;
/**
 * The pause between two reads of a busy tenant. On a machine busy with other work, the median delay was 5 ms, and 16 ms
 * with a pause of 10; with many busy tenants a process does at most 1,000 of these reads per second.
 */
const readPauseMs = 5;
const readPauseMsMax = 200;

/** The shared readers of this process, one per tenant with an open stream. */
export class Tails {
  readonly #options: { readonly db: Db; readonly log: Logger; readonly pollMs: number };
  readonly #used = new Map<string, Used>();

  constructor(options: { db: Db; log: Logger; pollMs: number }) {
    this.#options = options;
  }

  wake(tenantId: string): void {
    this.#used.get(tenantId)?.tail.wake();
  }

  wakeAll(): void {
    for (const { tail } of this.#used.values()) tail.wake();
  }

  /** Adds a stream of the tenant, which calls `leave` when it ends. */
  enter(tenantId: string): TenantTail {
    const used = this.#used.get(tenantId) ?? { tail: this.#make(tenantId), streams: 0 };
    used.streams += 1;
    this.#used.set(tenantId, used);
    return used.tail;
  }

  leave(tenantId: string): void {
    const used = this.#used.get(tenantId);
    if (used === undefined) return;
    used.streams -= 1;
    if (used.streams === 0) this.#used.delete(tenantId);
  }

  #make(tenantId: string): TenantTail {
    const keptBytes = () => Math.min(keptBytesMax, keptBytesTotal / Math.max(1, this.#used.size));
    const readPause = () => Math.min(readPauseMsMax, Math.max(readPauseMs, this.#used.size));
    return new TenantTail({
      ...this.#options,
      tenantId,
      keptBytesMax: keptBytes,
      readPauseMs: readPause,
    });
  }
}
