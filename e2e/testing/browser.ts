import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import axe from 'axe-core';
import {
  type Browser,
  type BrowserContextOptions,
  chromium,
  type Locator,
  type Page,
  type Request,
} from 'playwright-core';
import { isLongProof } from '@baton/testing/depth';
import { Shared } from './shared.ts';

/** Debian's Chromium; its shell without windows takes a third less processor time. */
const browsers = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'];
const executablePath = browsers.find((path) => existsSync(path));

/** The reason why the browser tests are skipped; false if a browser is installed. */
export const noBrowser = executablePath === undefined ? `there is no ${browsers.join(', and no ')}` : false;

/** @param args additional command-line switches of Chromium */
export async function startBrowser(args: readonly string[] = []): Promise<Browser> {
  assert.ok(executablePath !== undefined, 'no browser is installed');
  return chromium.launch({ executablePath, args: ['--no-sandbox', ...args] });
}

/** The browser that this process shares: a Chromium takes a second to start, and 200 MB. */
export const sharedBrowser = new Shared(startBrowser, (browser) => browser.close());

/** Closes the pages that tests have opened. An open page continues to poll Baton and to render. */
export async function closePages(browser: Browser): Promise<void> {
  await Promise.all(browser.contexts().map((context) => context.close()));
}

/** Only a failing test waits this long. */
export const patienceMs = 60_000;

/** A page, and all errors that its browser reported. */
export interface Watched {
  readonly page: Page;
  /** Errors of scripts, and violations of the content security policy. */
  readonly complaints: string[];
}

/** Opens a page of its own session: cookies and storage are empty. */
export async function openPage(browser: Browser, options: BrowserContextOptions = {}): Promise<Watched> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  context.setDefaultTimeout(patienceMs);
  const page = await context.newPage();
  const loading = new Set<Request>();
  requestsOf.set(page, loading);
  page.on('request', (sent) => loading.add(sent));
  for (const event of ['requestfinished', 'requestfailed'] as const)
    page.on(event as 'requestfinished', (sent) => loading.delete(sent));
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('console', (message) => {
    // A rejected request is not an error of the page: the caller gets the response.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      complaints.push(message.text());
  });
  return { page, complaints };
}

/** The pending requests of each page. */
const requestsOf = new WeakMap<Page, ReadonlySet<Request>>();

/** Returns whether the page has a pending request. */
export const isLoading = (page: Page): boolean => (requestsOf.get(page)?.size ?? 0) > 0;

/** After two frames the page has rendered the last response and sent its next requests. */
const drawn = `new Promise((done) => {
  requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done)));
  setTimeout(done, 1_000);
})`;

/** Waits until the page has no pending request. The journal's socket does not count. */
export async function untilLoaded(page: Page): Promise<void> {
  await untilTrue(async () => {
    if (isLoading(page)) return false;
    // `evaluate` fails if the page navigates in the meantime.
    const isDrawn = await page.evaluate(drawn).then(
      () => true,
      () => false,
    );
    return isDrawn && !isLoading(page);
  }, `${page.url()} goes on loading`);
}

/** Retries until `look` returns true. @throws AssertionError with `otherwise` after a minute */
export async function untilTrue(
  look: () => boolean | Promise<boolean>,
  otherwise: string | (() => string),
): Promise<void> {
  for (const began = performance.now(); performance.now() - began < patienceMs; ) {
    if (await look()) return;
    await new Promise((done) => setTimeout(done, 50));
  }
  assert.fail(typeof otherwise === 'string' ? otherwise : otherwise());
}

/**
 * Waits until an expression is true in the page. Playwright's `waitForFunction` needs `eval`, which the console's CSP
 * blocks.
 */
export const until = (page: Page, expression: string, otherwise = expression): Promise<void> =>
  untilTrue(async () => (await page.evaluate(`Boolean(${expression})`)) === true, otherwise);

/** Waits until the page no longer shows this: its parts are updated one after the other. */
export const isGone = (locator: Locator): Promise<void> => locator.first().waitFor({ state: 'hidden' });

interface AxeResult {
  readonly violations: readonly {
    readonly id: string;
    readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
  }[];
}

/**
 * Fails if axe finds a violation in the page's current state. A scan takes a second, so `npm test` scans only with the
 * depth `usual`.
 */
export async function assertAccessible(
  page: Page,
  name: string,
  depth: 'usual' | 'long' = 'long',
): Promise<void> {
  if (depth === 'long' && !isLongProof) return;
  // Evaluated by the browser's debugger, to which the content security policy doesn't apply.
  await page.evaluate(axe.source);
  const { violations } = (await page.evaluate('axe.run(document)')) as AxeResult;
  const told = violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary = '' }) => `${id}: ${html.slice(0, 200)}\n${failureSummary}`),
  );
  assert.deepEqual(told, [], name);
}
