import type { ItemPage } from '@baton/kernel/database/list';
import type { Page } from '@baton/kernel/http/paging';

/** Of the items of one answer, as JSON; what is beyond has a cursor. */
const pageBytesMax = 4_194_304;

/**
 * A page of items that may be large: it ends before its bytes could be more than 4 MiB, however many were asked for. Where they
 * are small, it is read in a few steps and is as long as was asked.
 * @param itemBytesMax what one item may have as JSON
 * @param read reads a page
 */
export async function pageWithinBytes<Item>(
  { limit, cursor: first }: Page,
  itemBytesMax: number,
  read: (page: Page) => Promise<ItemPage<Item>>,
): Promise<ItemPage<Item>> {
  const items: Item[] = [];
  let cursor = first;
  let bytesLeft = pageBytesMax;
  for (;;) {
    const room = Math.floor(bytesLeft / itemBytesMax);
    const next = await read({ limit: Math.min(limit - items.length, room), cursor });
    items.push(...next.items);
    if (next.nextCursor === null || items.length === limit) return { items, nextCursor: next.nextCursor };
    bytesLeft -= Buffer.byteLength(JSON.stringify(next.items));
    if (bytesLeft < itemBytesMax) return { items, nextCursor: next.nextCursor };
    cursor = next.nextCursor;
  }
}
