import type { ItemPage } from '@baton/kernel/database/list';
import type { Page } from '@baton/kernel/http/paging';

/** The maximum size of the items in one response, as JSON; the cursor leads to the remaining items. */
const pageBytesMax = 4_194_304;

/**
 * Reads a page of items that may be large. The page ends before it could exceed 4 MiB, regardless of the requested
 * limit; small items are read in a few steps up to the full limit.
 * @param itemBytesMax maximum size of one item as JSON
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
