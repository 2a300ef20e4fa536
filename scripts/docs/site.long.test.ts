// Builds the whole site as `npm run docs` does, searches it in a browser, and lets axe check some of its pages.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { assertAccessible, noBrowser, openPage, startBrowser, untilTrue } from '../../e2e/testing/browser.ts';
import { serveSite } from './site-server.ts';

const root = dirname(dirname(import.meta.dirname));
const folder = join(root, 'docs-site');
const skip =
  !existsSync(join(folder, 'node_modules/astro')) &&
  'astro not installed: npm ci --ignore-scripts --prefix docs-site';
if (skip !== false) console.warn(`SKIPPED: ${skip}`);

describe('the site of the documentation', { skip }, () => {
  let site: Awaited<ReturnType<typeof serveSite>>;

  before(async () => {
    const args = ['--disable-warning=ExperimentalWarning', join(root, 'scripts/docs.ts')];
    await promisify(execFile)(process.execPath, args, { cwd: root, maxBuffer: 1e8, timeout: 300_000 });
    site = await serveSite(join(folder, 'dist'), 0);
  });

  after(() => site?.server.close());

  test('has each page at its address, in Markdown, and in the index for language models', async () => {
    const get = async (path: string) => (await fetch(new URL(path, site.address))).text();
    assert.match(await get('reference/claims/'), /<h2 id="fencing">Fencing<\/h2>/);
    assert.match(await get('reference/claims.md'), /^# Claims\n[\s\S]*^## Fencing$/m);
    assert.match(await get('llms.txt'), /^- \[Claims\]\(\/reference\/claims\.md\): /m);
    assert.match(await get('llms-full.txt'), /^# Claims$/m);
  });

  test('copies commands without comments, which a shell could treat as arguments', () => {
    const copied = /data-code="npx baton whoami([^"]*)"/.exec(
      readFileSync(join(folder, 'dist/index.html'), 'utf8'),
    );
    assert.ok(copied !== null && !copied[1]?.includes('#'), copied?.[0]);
  });

  test('finds codes and settings where they are described, and sends no requests to other hosts', {
    skip: noBrowser,
  }, async () => {
    const browser = await startBrowser();
    try {
      const { page, complaints } = await openPage(browser);
      const outside: string[] = [];
      page.on('request', (sent) => {
        if (!sent.url().startsWith(site.address)) outside.push(sent.url());
      });
      for (const [name, address] of [
        ['stale_claim', '/errors/'],
        ['CP_DATABASE_URL', '/configuration/'],
      ] as const) {
        await page.goto(site.address);
        await openSearch(page);
        await page.locator('dialog input').fill(name);
        const first = page.locator('.pagefind-ui__result a').first();
        await first.waitFor();
        assert.ok((await first.getAttribute('href'))?.startsWith(address), name);
      }
      assert.deepEqual([outside, complaints], [[], []]);
    } finally {
      await browser.close();
    }
  });

  for (const [colorScheme, width] of [
    ['light', 1280],
    ['dark', 375],
  ] as const)
    test(`axe finds nothing in ${colorScheme}, ${width} pixels wide`, { skip: noBrowser }, async () => {
      const browser = await startBrowser();
      try {
        const { page, complaints } = await openPage(browser, {
          colorScheme,
          viewport: { width, height: 800 },
        });
        const check = (name: string) => assertAccessible(page, `${name} ${colorScheme} ${width}`);
        // Pages with scrolling commands, requests, tables, headings without text between them, and none of these.
        for (const path of [
          '',
          'errors/',
          'cli/',
          'configuration/',
          'performance/',
          'reference/claims/',
          '404',
        ]) {
          await page.goto(site.address + path);
          await page.waitForFunction(areScrollingPartsFocusable);
          await check(path);
        }
        await page.goto(site.address);
        await openSearch(page);
        await page.locator('dialog input').fill('stale_claim');
        await page.locator('.pagefind-ui__result a').first().waitFor();
        await check('the search');
        assert.deepEqual(complaints, []);
      } finally {
        await browser.close();
      }
    });
});

/**
 * Evaluated in the page: resolves when its scripts have settled and the keyboard reaches each table and block of code
 * that scrolls.
 */
const areScrollingPartsFocusable = `[...document.querySelectorAll('.sl-markdown-content :is(table, pre)')].every(
  (part) => part.scrollWidth <= part.clientWidth || part.getAttribute('tabindex') === '0',
)`;

/** Opens the search. A click before the page's script has started has no effect. */
async function openSearch(page: Page): Promise<void> {
  await untilTrue(async () => {
    const isOpen = (await page.locator('dialog[open]').count()) > 0;
    if (!isOpen) await page.locator('button[data-open-modal]').click();
    return page.locator('dialog input').isVisible();
  }, 'the search does not open');
}
