import { ConcurrencyLimit, Turns } from '@baton/kernel/limits/concurrency-limit';
import { type ContentStore, ContentStoreFailed } from '../content-store.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';

/** Maximum number of concurrent uploads and downloads per process; each holds a file or a connection to the store. */
const transfersMax = { all: 256, tenant: 96 };

const limitOf = (subject: string, runningMax: number) =>
  // Transfers aren't queued, because one may take minutes.
  new ConcurrencyLimit(subject, { runningMax, queuedMax: 0, waitMsMax: 0 });

const limits = {
  all: limitOf('transfers of contents', transfersMax.all),
  tenant: limitOf('transfers of contents of the tenant', transfersMax.tenant),
};

/** Limits concurrent transfers. @throws Refusal `unavailable` with Retry-After when too many run */
export const transfers = {
  begin({ tenantId }: Context): { end(): void } {
    const turns = new Turns([limits.tenant, tenantId], [limits.all, '']);
    // Never a promise: without a queue, it either returns a slot or refuses immediately.
    void turns.enter();
    let ended = false;
    return {
      end() {
        if (!ended) turns.leave();
        ended = true;
      },
    };
  },
  async run<T>(context: Context, transfer: () => Promise<T>): Promise<T> {
    const counted = this.begin(context);
    try {
      return await transfer();
    } finally {
      counted.end();
    }
  },
};

/** @throws Refusal `content_store_unavailable` if no store is configured */
export function requireStore({ contents }: Context): ContentStore {
  return contents ?? fail('content_store_unavailable', {}, { reason: 'no content store is configured' });
}

/** Refuses with `content_store_unavailable` if the store fails, and logs the cause. */
export async function requireAvailable<T>({ log, requestId }: Context, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (!(error instanceof ContentStoreFailed)) throw error;
    log.error({ err: error, requestId }, 'the content store failed');
    return fail('content_store_unavailable', {}, { cause: error });
  }
}
