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

/** Why the tests with a browser are skipped; false where one is there. */
export const noBrowser = executablePath === undefined ? `there is no ${browsers.join(', and no ')}` : false;

/** @param args more of Chromium's switches */
export async function startBrowser(args: readonly string[] = []): Promise<Browser> {
  assert.ok(executablePath !== undefined, 'no browser is installed');
  return chromium.launch({ executablePath, args: ['--no-sandbox', ...args] });
}

/** The one of this process: a Chromium needs a second to start, and 200 MB. */
export const sharedBrowser = new Shared(startBrowser, (browser) => browser.close());

/** Ends the pages that tests have opened: each goes on asking Baton, and drawing, while it is open. */
export async function closePages(browser: Browser): Promise<void> {
  await Promise.all(browser.contexts().map((context) => context.close()));
}

/** Only a test that fails waits for so long. */
export const patienceMs = 60_000;

/** A page, and everything that its browser complained about. */
export interface Watched {
  readonly page: Page;
  /** Errors of scripts, and what the content security policy forbade. */
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
    // A request that is refused is no fault of the page: who asks sees the answer.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      complaints.push(message.text());
  });
  return { page, complaints };
}

/** What each page has asked for and waits for. */
const requestsOf = new WeakMap<Page, ReadonlySet<Request>>();

/** Whether the page waits for an answer. */
export const isLoading = (page: Page): boolean => (requestsOf.get(page)?.size ?? 0) > 0;

/** After two frames the page has drawn what came last, and asked for what it needs next. */
const drawn = `new Promise((done) => {
  requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done)));
  setTimeout(done, 1_000);
})`;

/** Waits until the page loads nothing. The journal's socket does not count. */
export async function untilLoaded(page: Page): Promise<void> {
  await untilTrue(async () => {
    if (isLoading(page)) return false;
    // A page that goes elsewhere meanwhile has not drawn.
    const isDrawn = await page.evaluate(drawn).then(
      () => true,
      () => false,
    );
    return isDrawn && !isLoading(page);
  }, `${page.url()} goes on loading`);
}

/** Asks until the answer is true. @throws AssertionError with `otherwise` after a minute */
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

/** Waits until an expression is true in the page. Playwright's own way needs `eval`, which the policy of the console forbids. */
export const until = (page: Page, expression: string, otherwise = expression): Promise<void> =>
  untilTrue(async () => (await page.evaluate(`Boolean(${expression})`)) === true, otherwise);

/** Waits until the page shows nothing like this any more: its parts learn of a change one after the other. */
export const isGone = (locator: Locator): Promise<void> => locator.first().waitFor({ state: 'hidden' });

interface AxeResult {
  readonly violations: readonly {
    readonly id: string;
    readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
  }[];
}

/**
 * Fails for every violation that axe finds in the page as it is now: in the long proof, since each look takes a second, and
 * where `depth` says so.
 */
export async function assertAccessible(
  page: Page,
  name: string,
  depth: 'usual' | 'long' = 'long',
): Promise<void> {
  if (depth === 'long' && !isLongProof) return;
  // Evaluated by the browser's debugger, which the content security policy does not bind.
  await page.evaluate(axe.source);
  const { violations } = (await page.evaluate('axe.run(document)')) as AxeResult;
  const told = violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary = '' }) => `${id}: ${html.slice(0, 200)}\n${failureSummary}`),
  );
  assert.deepEqual(told, [], name);
}
