import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import axe from 'axe-core';
import { type Browser, type BrowserContextOptions, chromium, type Locator, type Page } from 'playwright-core';

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

/** A page, and everything that its browser complained about. */
export interface Watched {
  readonly page: Page;
  /** Errors of scripts, and what the content security policy forbade. */
  readonly complaints: string[];
}

/** Opens a page of its own session: cookies and storage are empty. */
export async function openPage(browser: Browser, options: BrowserContextOptions = {}): Promise<Watched> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('console', (message) => {
    // A request that is refused is no fault of the page: who asks sees the answer.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      complaints.push(message.text());
  });
  page.setDefaultTimeout(30_000);
  return { page, complaints };
}

/** Waits until an expression is true in the page. Playwright's own way needs `eval`, which the policy of the console forbids. */
export async function until(page: Page, expression: string, otherwise = expression): Promise<void> {
  for (let n = 0; n < 300; n += 1) {
    if (await page.evaluate(`Boolean(${expression})`)) return;
    await page.waitForTimeout(100);
  }
  assert.fail(otherwise);
}

/** Waits until the page shows nothing like this any more: its parts learn of a change one after the other. */
export const isGone = (locator: Locator): Promise<void> => locator.first().waitFor({ state: 'hidden' });

interface AxeResult {
  readonly violations: readonly {
    readonly id: string;
    readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
  }[];
}

/** Fails for every violation that axe finds in the page as it is now. */
export async function assertAccessible(page: Page, name: string): Promise<void> {
  // Evaluated by the browser's debugger, which the content security policy does not bind.
  await page.evaluate(axe.source);
  const { violations } = (await page.evaluate('axe.run(document)')) as AxeResult;
  const told = violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary = '' }) => `${id}: ${html.slice(0, 200)}\n${failureSummary}`),
  );
  assert.deepEqual(told, [], name);
}
