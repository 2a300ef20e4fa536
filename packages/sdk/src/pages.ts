import type { Paged } from './call.ts';
import { BatonError } from './errors.ts';
import type { Call } from './requests.ts';

interface Page {
  readonly items: readonly unknown[];
  readonly nextCursor: string | null;
}

/**
 * One page when awaited, all items from there on when iterated. Where the call has a body, the cursor of the next page goes
 * into it, else into the query.
 */
export function pagesOf(call: Call, ask: (call: Call) => Promise<unknown>): Paged<Page, unknown> {
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

/** The journal gives a cursor with its last page, too, from which to go on later. */
function isLast(page: Page & { readonly hasMore?: boolean }): boolean {
  return page.hasMore === false;
}

/**
 * Of a page that is not the last and names the cursor that it was asked with. No service writes one: where something comes after
 * a page, its cursor lies behind its items. Without this what answers one page for ever would be asked for ever.
 */
function endless(): BatonError {
  return new BatonError({
    code: 'unreadable_answer',
    message: 'the service answers the same page again and again',
  });
}

function after(call: Call, cursor: string): Call {
  if (call.operation.hasBody) return { ...call, body: { ...(call.body as object), cursor } };
  return { ...call, query: { ...call.query, cursor } };
}
