import type { Page } from 'playwright-core';
import { places } from '../../packages/console/web/src/shell/places.ts';
import { untilLoaded } from './browser.ts';
import type { RunningConsole } from './console.ts';

/** Every page of the console's navigation; a new one is tested without a change here. */
export const pagesOfConsole: readonly { readonly path: string; readonly name: string }[] = places.map(
  ({ to, name }) => ({ path: to, name }),
);

/** Waits until a page is complete: it has its heading, and no request is pending. */
export async function settled(page: Page): Promise<void> {
  await page.locator('main h1').first().waitFor();
  await page.locator('[role="status"][aria-label="Loading"]').first().waitFor({ state: 'detached' });
  await untilLoaded(page);
}

/**
 * The pages that a page links to, one of each kind: addresses with other ids or other values count as the same.
 * @param known kinds that were seen before, to which new ones are added
 */
export async function linksOf(page: Page, world: RunningConsole, known: Set<string>): Promise<string[]> {
  const addresses = (await page.evaluate(
    "[...document.querySelectorAll('main a[href]')].map((link) => link.href)",
  )) as string[];
  const found: string[] = [];
  for (const address of addresses) {
    const { origin, pathname, searchParams } = new URL(address);
    if (origin !== world.url) continue;
    const [, first, second] = pathname.split('/');
    const kind = `/${first}${second === undefined ? '' : '/…'}?${[...searchParams.keys()].join('&')}`;
    if (known.has(kind)) continue;
    known.add(kind);
    found.push(address.slice(origin.length));
  }
  return found;
}
