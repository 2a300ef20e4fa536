import type { Paged } from './call.ts';
import { BatonError } from './errors.ts';
import type { Call } from './requests.ts';

interface Page {
  readonly items: readonly unknown[];
  readonly nextCursor: string | null;
}

/**
 * One page when awaited, all items from there on when iterated. The cursor of the next page is sent in the body, or in
 * the query of a call without a body.
 */
export function paginate(call: Call, ask: (call: Call) => Promise<unknown>): Paged<Page, unknown> {
  const first = ask(call) as Promise<Page>;
  async function* items() {
    for (let page = await first; ; ) {
      yield* page.items;
      if (page.nextCursor === null || isLast(page)) return;
      const cursor: string = page.nextCursor;
      page = (await ask(after(call, cursor))) as Page;
      if (page.nextCursor === cursor && !isLast(page)) throw endless();
    }
  }
  return Object.assign(first, { [Symbol.asyncIterator]: items });
}

/** The journal returns a cursor even with its last page, so that a reader can continue from there later. */
function isLast(page: Page & { readonly hasMore?: boolean }): boolean {
  return page.hasMore === false;
}

/**
 * The error for a page that isn't the last and repeats the cursor of its request. A cursor is always past the items of
 * its page. Without this check, a server that repeats one page would be called forever.
 */
function endless(): BatonError {
  return new BatonError({
    code: 'unreadable_answer',
    message: 'the service returns the same page repeatedly',
  });
}

function after(call: Call, cursor: string): Call {
  if (call.operation.hasBody) return { ...call, body: { ...(call.body as object), cursor } };
  return { ...call, query: { ...call.query, cursor } };
}
