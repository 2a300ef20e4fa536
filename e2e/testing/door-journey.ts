import { performance } from 'node:perf_hooks';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { type RunningBaton, startRunningBaton } from '@baton/testing/running-baton';
import { openPage, untilTrue, type Watched } from './browser.ts';
import { type Authenticator, addAuthenticator } from './passkeys.ts';

/** What people did on all pages of a journey, and how long it took. */
export class Journey {
  readonly #name: string;
  readonly #beganAtMs = performance.now();
  readonly #acts: string[] = [];

  constructor(name: string) {
    this.#name = name;
  }

  /** Counts from now on what `who` does on a page. Call it before the page is opened. */
  async watch(who: string, page: Page): Promise<void> {
    await page.exposeBinding('countAct', (_source, act: string) => void this.#acts.push(`${who}: ${act}`));
    // Only what the browser reports as an act of its user: a pressed mouse button, or Enter.
    await page.addInitScript(`
      const nameOf = (target) => (target.closest?.('a, button, summary, option, label') ?? target).textContent.trim().slice(0, 40);
      addEventListener('pointerdown', (event) => event.isTrusted && countAct(nameOf(event.target)), true);
      addEventListener('keydown', (event) => event.isTrusted && event.key === 'Enter' && countAct('Enter'), true);
    `);
  }

  /** Prints the figures. @returns the number of clicks, not counting presses of Enter, and each act in words */
  finish(): { readonly clicks: number; readonly seconds: number; readonly acts: string } {
    const seconds = (performance.now() - this.#beganAtMs) / 1000;
    const keys = this.#acts.filter((act) => act.endsWith(': Enter')).length;
    const clicks = this.#acts.length - keys;
    const acts = this.#acts.join(' · ');
    process.stdout.write(
      `# ${this.#name}: ${clicks} clicks, ${keys} Enter, ${seconds.toFixed(1)} s (${acts})\n`,
    );
    return { clicks, seconds, acts };
  }
}

/** A Baton as `baton start` creates it, in a new folder with its own PostgreSQL, behind a proxy on this machine. */
export async function startNewBaton(settings: Record<string, string> = {}): Promise<RunningBaton> {
  const trusted = '["127.0.0.1","::1"]';
  const proxies = { CP_TRUSTED_PROXIES: trusted, IAM_TRUSTED_PROXIES: trusted };
  const baton = await startRunningBaton({ ...proxies, ...settings }, { hasOwnPostgres: true });
  // The pages return 503 until the console is built.
  await untilTrue(
    async () => (await fetch(baton.url, { method: 'HEAD' })).status === 200,
    'the console was not built within a minute',
  );
  return baton;
}

export interface Visitor extends Watched {
  readonly authenticator: Authenticator;
}

/** A browser profile with an authenticator of its own, on a machine with this address. */
export async function openFrom(
  browser: Browser,
  address: string,
  options: BrowserContextOptions = {},
): Promise<Visitor> {
  const watched = await openPage(browser, {
    ...options,
    extraHTTPHeaders: { 'x-forwarded-for': address },
  });
  return { ...watched, authenticator: await addAuthenticator(watched.page) };
}
