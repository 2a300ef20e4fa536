import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, afterEach, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { byDepth, longTest } from '@baton/testing/depth';
import {
  assertAccessible,
  noBrowser,
  openPage,
  startBrowser,
  until,
  type Watched,
} from '../testing/browser.ts';
import { type RunningConsole, startConsole } from '../testing/console.ts';
import { linksOf, pagesOfConsole, settled } from '../testing/console-pages.ts';
import { type HostileWorld, mark, writeHostileTexts } from '../testing/hostile-texts.ts';

// The protection of the console's users, on every page. sign-in.test.ts covers bodies and origins that no browser
// sends.

const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; " +
  "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'";

/** Pages without user input: the state of the system, and responses of a memory service. */
const withoutTexts = new Set(['/system', '/knowledge', '/account']);
/** The console's own endpoints. */
const consoleCalls = [
  'token',
  'sign-out',
  'codes',
  'sign-in',
  'providers',
  'provider-sign-in',
  'provider-test',
  'passkey-sign-in',
  'invitation',
  'account',
  'passkeys',
  'first-passkey',
  'sessions',
  'grant-end',
];
/** The number of linked pages that are checked. */
const linkedPagesMax = byDepth(3, 40);

describe('the security of the console', { skip: noBrowser }, () => {
  let world: RunningConsole;
  let written: HostileWorld;

  before(async () => {
    world = await startConsole();
    written = await writeHostileTexts(world);
  });
  afterEach(() => world?.closePages());
  after(() => world?.close());

  const paths = () => [
    ...pagesOfConsole.map(({ path }) => path),
    '/?view=board',
    `/tasks/${written.publicId}`,
    '/account',
    '/start',
    '/invite',
    '/sign-in',
  ];

  test('every page and every file has the same strict headers', async () => {
    const page = await fetch(world.url);
    const assets = [...(await page.text()).matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(
      ([, path = '']) => path,
    );
    assert.ok(assets.length >= 2, 'the page names its script and its style');
    for (const path of [...paths(), ...assets]) {
      const { status, headers } = await fetch(world.url + path);
      assert.equal(status, 200, path);
      assert.deepEqual(
        {
          csp: headers.get('content-security-policy'),
          sniff: headers.get('x-content-type-options'),
          frame: headers.get('x-frame-options'),
          referrer: headers.get('referrer-policy'),
          opener: headers.get('cross-origin-opener-policy'),
          resource: headers.get('cross-origin-resource-policy'),
          cors: headers.get('access-control-allow-origin'),
          cookie: headers.get('set-cookie'),
        },
        {
          csp: policy,
          sniff: 'nosniff',
          frame: 'DENY',
          referrer: 'no-referrer',
          opener: 'same-origin',
          resource: 'same-origin',
          cors: null,
          cookie: null,
        },
        path,
      );
      if (!path.startsWith('/assets/')) assert.equal(headers.get('cache-control'), 'no-store', path);
    }
    // Objects, frames, workers and media fall back to default-src, so the policy needn't name them.
    assert.doesNotMatch(policy, /unsafe|\*|https?:|object-src|frame-src|worker-src/);
  });

  longTest(
    'no page leaves a secret in storage, in a URL, in the history or in another kind of request',
    async () => {
      const watched = await openPage(world.browser);
      const { page, complaints } = watched;
      const secrets = new Set([world.adminToken, world.adminSecret]);
      const addresses = new Set<string>();
      const reads: Promise<unknown>[] = [];
      page.on('request', (sent) => {
        addresses.add(sent.url());
        const { referer } = sent.headers();
        if (referer !== undefined) addresses.add(referer);
      });
      page.on('websocket', (socket) => addresses.add(socket.url()));
      page.on('framenavigated', (frame) => addresses.add(frame.url()));
      page.on('response', (answer) => {
        if (!/\/console\/(token|sign-in)$/.test(answer.url())) return;
        reads.push(
          answer
            .json()
            .then(({ accessToken }) => secrets.add(accessToken))
            .catch(() => undefined),
        );
      });
      const code = await world.newCode();
      secrets.add(code);
      await page.goto(`${world.url}/sign-in#code=${code}`);
      await page.getByRole('navigation', { name: 'Pages' }).waitFor();
      // The URL with the code is requested only this once, but must not be stored.
      for (const address of addresses) if (address.endsWith(`#code=${code}`)) addresses.delete(address);
      const visited = paths().slice(0, -3);
      for (const path of visited) {
        await page.goto(world.url + path);
        await settled(page);
        if (path === '/administration') await enterAdminSecret(page, world.adminSecret);
        if (path.startsWith('/tasks/')) {
          await page.keyboard.press('Control+k');
          await page.getByRole('dialog').waitFor();
          await page.keyboard.type('search');
          await page.getByRole('option', { name: /Search all tasks/ }).waitFor();
          await page.keyboard.press('Escape');
        }
        await Promise.all(reads);
        for (const { name, value, ...flags } of await page.context().cookies()) {
          secrets.add(value);
          assert.deepEqual(
            [name, flags.httpOnly, flags.sameSite, flags.path, flags.expires, flags.domain],
            ['baton_console', true, 'Strict', '/console', -1, '127.0.0.1'],
          );
        }
        const kept = await whatIsKept(page);
        for (const secret of secrets)
          assert.ok(!kept.includes(secret), `${path} keeps a secret: ${kept.slice(0, 500)}`);
        // No token may be stored, regardless of its owner.
        assert.doesNotMatch(kept, /eyJ[\w-]{10,}\.|bat_[\w-]{10,}/, path);
      }
      assert.ok(secrets.size >= 5, 'the access token and the cookie were seen');
      for (const address of addresses)
        for (const secret of secrets) assert.ok(!address.includes(secret), address.slice(0, 200));
      // The browser's history contains no secret.
      const browser = await page.context().newCDPSession(page);
      const { entries } = await browser.send('Page.getNavigationHistory');
      assert.ok(entries.length >= visited.length, `the history has ${entries.length} entries`);
      for (const { url } of entries)
        for (const secret of secrets) assert.ok(!url.includes(secret), url.slice(0, 200));
      assert.deepEqual(complaints, []);
    },
  );

  test('a page of another origin cannot use the session of its visitor', async () => {
    const { page } = await world.signedIn();
    const context = page.context();
    // Another port is another origin of the same site, so the cookie is sent in spite of SameSite=Strict.
    const near = 'http://127.0.0.1:9';
    const far = 'http://other.example';
    await context.route(/^http:\/\/(127\.0\.0\.1:9|other\.example)\//, (route) =>
      route.fulfill({ contentType: 'text/html', body: '<!doctype html><title>Other</title><p>Other</p>' }),
    );
    for (const origin of [near, far]) {
      const other = await context.newPage();
      const answers: [string, number][] = [];
      other.on('response', (answer) => {
        if (answer.url().startsWith(world.url)) answers.push([answer.url(), answer.status()]);
      });
      await other.goto(`${origin}/`);
      for (const path of consoleCalls)
        for (const [mode, type] of [
          ['cors', 'application/json'],
          ['cors', 'text/plain'],
          ['no-cors', 'text/plain'],
        ]) {
          const seen = await other.evaluate(
            `fetch(${JSON.stringify(`${world.url}/console/${path}`)}, { method: 'POST', mode: '${mode}',
               credentials: 'include', headers: { 'content-type': '${type}' }, body: '{}' })
             .then(async (answer) => answer.type === 'opaque' ? 'nothing' : answer.text(), () => 'nothing')`,
          );
          assert.equal(seen, 'nothing', `${origin} ${path} ${mode} ${type}`);
        }
      assert.deepEqual(
        answers.filter(([, status]) => status < 400),
        [],
        origin,
      );
      // The other origin can't embed a page of the console either.
      await other.evaluate(`new Promise((done) => {
        const frame = { src: ${JSON.stringify(world.url)}, onload: () => done() };
        document.body.append(Object.assign(document.createElement('iframe'), frame));
      })`);
      const framed = other.frames().find((frame) => frame !== other.mainFrame());
      assert.doesNotMatch(framed?.url() ?? '', /^http:\/\/127\.0\.0\.1:\d{2,}\/$/, origin);
      await other.close();
    }
    // The session is unchanged.
    await page.reload();
    await page.getByRole('heading', { name: 'Work' }).waitFor();
  });

  longTest(
    'a server on another port of the host gets the cookie, but can neither use it nor plant one',
    async () => {
      const rival = await world.person(['tasks.read']);
      const ask = (path: string, cookie: string, key?: string, body: object = {}) =>
        fetch(`${world.url}/console/${path}`, {
          method: 'POST',
          headers: {
            'content-type': 'application/json',
            origin: world.url,
            cookie,
            ...(key !== undefined && { 'baton-console-key': key }),
          },
          body: JSON.stringify(body),
        });
      const rivalsKey = 'r'.repeat(43);
      const [rivalsCookie = ''] = (
        (await ask('sign-in', '', rivalsKey, { token: rival.token })).headers.get('set-cookie') ?? ''
      ).split(';');
      assert.equal((await ask('token', rivalsCookie, rivalsKey)).status, 200);
      const received: string[] = [];
      let planted: string[] = [];
      const near = createServer((req, res) => {
        received.push(req.headers.cookie ?? '');
        res
          .writeHead(200, { 'content-type': 'text/html', 'set-cookie': planted })
          .end('<title>Other</title>');
      });
      near.listen(0, '127.0.0.1');
      await once(near, 'listening');
      try {
        const visit = async (page: Page, ...cookies: string[]) => {
          planted = cookies;
          const tab = await page.context().newPage();
          await tab.goto(`http://127.0.0.1:${(near.address() as AddressInfo).port}/console/x`);
          await tab.close();
        };
        const { page } = await world.signedIn();
        const { displayName } = await world.baton.principals.get(world.me);
        const isSignedIn = () =>
          page.getByRole('navigation', { name: 'Pages' }).getByText(displayName, { exact: true }).waitFor();
        await visit(page);
        const stolen = received.at(-1) ?? '';
        assert.match(stolen, /^baton_console=[\w-]{43}$/, 'the browser sends the cookie to every port');
        for (const [path, body] of [
          ['token', {}],
          ['demo', { act: 'state' }],
        ] as const) {
          assert.equal((await ask(path, stolen, undefined, body)).status, 400);
          assert.equal((await ask(path, stolen, rivalsKey, body)).status, 401);
        }
        await ask('sign-out', stolen, rivalsKey, { everywhere: 'yes' });
        await page.reload();
        await isSignedIn();
        // Plants a cookie for a longer path, which the browser sends first, and later one that replaces the original.
        await visit(page, `${rivalsCookie}; Path=/console/token`);
        await page.reload();
        await isSignedIn();
        const tab = await page.context().newPage();
        await tab.goto(world.url);
        await tab.getByRole('heading', { name: 'Work' }).waitFor();
        await visit(page, `${rivalsCookie}; Path=/console`);
        await page.reload();
        await page.getByRole('heading', { name: 'Sign in to Baton' }).waitFor();
        // In a browser without a session, the planted cookie doesn't sign the user in.
        const fresh = await openPage(world.browser);
        await visit(fresh.page, `${rivalsCookie}; Path=/console`);
        await fresh.page.goto(world.url);
        await fresh.page.getByRole('heading', { name: 'Sign in to Baton' }).waitFor();
        await fresh.page.goto(`${world.url}/sign-in#code=${await world.newCode()}`);
        await fresh.page
          .getByRole('navigation', { name: 'Pages' })
          .getByText(displayName, { exact: true })
          .waitFor();
      } finally {
        near.close();
      }
    },
  );

  test('a link with the code of somebody else requires a confirmation before it replaces the session', async () => {
    const rival = await world.person(['tasks.read']);
    const { page, complaints } = await world.signedIn();
    const open = async () => page.goto(`${world.url}/sign-in#code=${await world.newCode(rival.token)}`);
    const isSignedInAs = async (id: string, tab = page) => {
      const { displayName } = await world.baton.principals.get(id);
      await tab.getByRole('navigation', { name: 'Pages' }).getByText(displayName, { exact: true }).waitFor();
    };
    await open();
    await page.getByRole('alertdialog', { name: 'Switch account?' }).waitFor();
    await assertAccessible(page, 'the question');
    // Enter activates the focused button, which keeps the current account.
    await page.keyboard.press('Enter');
    await isSignedInAs(world.me);
    await open();
    const other = await page.context().newPage();
    await other.goto(`${world.url}/inbox`);
    await isSignedInAs(world.me, other);
    await page.getByRole('button', { name: 'Switch account' }).click();
    await isSignedInAs(rival.principalId);
    // The other tab shares the session, so it does not continue as the previous person.
    await isSignedInAs(rival.principalId, other);
    assert.equal(other.url(), `${world.url}/inbox`);
    assert.deepEqual(complaints, []);
  });

  test('input of one person is never sent as another person who has signed in meanwhile', async () => {
    const rival = await world.person(['tasks.read', 'tasks.write']);
    const task = await world.baton.tasks.create({ title: 'Written as somebody' });
    const { page, complaints } = await world.signedIn(`/tasks/${task.publicId}`);
    await page.getByPlaceholder('Add a comment …').fill('As the administrator');
    // Like a sign-in through a provider, this sign-in isn't announced to the other tabs by any page.
    const address = `${world.url}/console/sign-in`;
    const key = String(await page.evaluate("localStorage.getItem('baton.console-key')"));
    const headers = { 'baton-console-key': key };
    const answer = await page.context().request.post(address, { headers, data: { token: rival.token } });
    assert.equal(answer.status(), 200);
    let refused = 0;
    await page.route('**/api/v1/tasks/*/comments', async (route) => {
      if (route.request().method() !== 'POST' || refused > 0) return route.continue();
      refused += 1;
      // Simulates an expired access token, so that the page requests the next one.
      await route.fulfill({
        status: 401,
        json: { error: { code: 'invalid_token', message: 'It has expired.' } },
      });
    });
    await page.getByRole('button', { name: 'Comment', exact: true }).click();
    const { displayName } = await world.baton.principals.get(rival.principalId);
    await page.getByRole('navigation', { name: 'Pages' }).getByText(displayName, { exact: true }).waitFor();
    assert.equal(refused, 1);
    assert.deepEqual((await world.baton.tasks.listComments(task.id, {})).items, []);
    assert.deepEqual(complaints, []);
  });

  test('a foreign host name that points to this machine opens no page', async () => {
    const { port } = new URL(world.url);
    const statusAt = (host: string, path: string, method = 'GET') =>
      new Promise<number>((resolve, reject) => {
        const headers = { host, 'content-type': 'application/json' };
        const sent = request({ host: '127.0.0.1', port, path, method, headers }, (answer) => {
          answer.resume();
          resolve(answer.statusCode ?? 0);
        });
        sent.on('error', reject);
        sent.end(method === 'POST' ? '{}' : undefined);
      });
    for (const host of ['rebound.example', `rebound.example:${port}`, `127.0.0.1.rebound.example:${port}`]) {
      for (const path of [...paths(), '/api/v1/harness/context', '/iam/api/v1/tenants'])
        assert.equal(await statusAt(host, path), 421, `${host} ${path}`);
      for (const path of consoleCalls)
        assert.equal(await statusAt(host, `/console/${path}`, 'POST'), 421, `${host} ${path}`);
    }
    const browser = await startBrowser(['--host-resolver-rules=MAP rebound.example 127.0.0.1']);
    try {
      const { page } = await openPage(browser);
      const answer = await page.goto(`http://rebound.example:${port}/`);
      assert.equal(answer?.status(), 421);
      // The page at that address can't send any request.
      const sent = page.evaluate("fetch('/console/token', { method: 'POST', body: '{}' })");
      await assert.rejects(sent, /Failed to fetch/);
    } finally {
      await browser.close();
    }
  });

  test('untrusted text is shown verbatim on every page, and never run', async () => {
    const known = new Set<string>();
    const watched = await world.signedIn();
    watched.page.on('dialog', (dialog) => {
      watched.complaints.push(`a dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    const linked: string[] = [];
    for (const path of paths().slice(0, -3)) {
      await visit(watched, path);
      if (path === '/administration') await enterAdminSecret(watched.page, world.adminSecret);
      if (!withoutTexts.has(path)) await showsHostileText(watched.page, path);
      await assertHarmless(watched, path);
      linked.push(...(await linksOf(watched.page, world, known)));
    }
    for (let n = 0; n < linked.length && n < linkedPagesMax; n += 1) {
      const path = linked[n] as string;
      await visit(watched, path);
      await assertHarmless(watched, path);
      linked.push(...(await linksOf(watched.page, world, known)));
    }
    // Expands everything on the task page: its events with their payloads.
    await visit(watched, `/tasks/${written.publicId}`);
    await watched.page.evaluate(
      "document.querySelectorAll('details').forEach((one) => { one.open = true; })",
    );
    await assertHarmless(watched, 'the opened task');
    await watched.page.keyboard.press('Control+k');
    await watched.page.getByRole('dialog').waitFor();
    await watched.page.keyboard.type('onerror');
    await watched.page
      .getByRole('option', { name: /onerror/ })
      .first()
      .waitFor();
    await assertHarmless(watched, 'the palette');
  });

  test('no untrusted text makes a narrow page wider than the screen', async () => {
    const { page } = await world.signedIn('/', { viewport: { width: 375, height: 800 } });
    const views = JSON.stringify(
      Array.from({ length: 9 }, (_, n) => ({ name: `${n}${mark}`, search: { q: 'x' } })),
    );
    await page.evaluate(`localStorage.setItem('baton.views.${world.me}', ${JSON.stringify(views)})`);
    const found: unknown[] = [];
    for (const path of byDepth(['/', `/tasks/${written.publicId}`], paths())) {
      await page.goto(world.url + path);
      await settled(page);
      if (path === '/administration') await enterAdminSecret(page, world.adminSecret);
      const tooWide = (await page.evaluate(`[document.documentElement, document.querySelector('main')]
        .filter((one) => one.scrollWidth > one.clientWidth + 1)
        .map((one) => one.tagName + ' ' + one.scrollWidth + ' of ' + one.clientWidth)`)) as string[];
      found.push(...tooWide.map((one) => `${path}: ${one}`));
    }
    assert.deepEqual(found, []);
  });

  async function visit({ page }: Watched, path: string): Promise<void> {
    await page.goto(world.url + path);
    await settled(page);
  }
});

/** Enters the admin secret; without it, the page would show no user input. */
async function enterAdminSecret(page: Page, secret: string): Promise<void> {
  await page.getByText('Use the admin secret').click();
  const field = page.getByLabel('Admin secret');
  await field.fill(secret);
  await field.press('Enter');
  await page.getByRole('button', { name: 'Lock administration' }).waitFor();
  await settled(page);
}

/** Waits until the page shows the hostile text verbatim, either as text or in a field. */
async function showsHostileText(page: Page, path: string): Promise<void> {
  await until(
    page,
    `document.querySelector('main').textContent.includes(${JSON.stringify(mark)}) ||
     [...document.querySelectorAll('main input, main textarea, main option')].some(({ value }) => value.includes(${JSON.stringify(mark)}))`,
    `${path} shows none of the hostile texts as it is`,
  );
}

async function assertHarmless({ page, complaints }: Watched, path: string): Promise<void> {
  // The error handler of an image runs with a delay, so wait for it.
  await page.waitForTimeout(100);
  assert.equal(await page.evaluate('window.__xss'), undefined, path);
  const made = await page.evaluate(`[...document.querySelectorAll(
      'img, iframe, object, embed, main script, [onload], [onerror], [onclick], [href^="javascript:" i], [src^="javascript:" i], [action^="javascript:" i]')]
    .map((one) => one.outerHTML.slice(0, 200))`);
  assert.deepEqual(made, [], path);
  // Bidirectional control characters affect only their own text.
  const open = await page.evaluate(`[...document.querySelectorAll('main *')]
    .filter((one) => [...one.childNodes].some((node) => node.nodeType === 3 && node.data.includes('\u202E')))
    .filter((one) => getComputedStyle(one).display === 'inline' && getComputedStyle(one).unicodeBidi === 'normal')
    .map((one) => one.outerHTML.slice(0, 200))`);
  assert.deepEqual(open, [], path);
  assert.deepEqual(complaints, [], path);
}

/** Everything that a page can store in a browser, and what the browser stores about the page. */
async function whatIsKept(page: Page): Promise<string> {
  return String(
    await page.evaluate(`(async () => {
      const databases = await indexedDB.databases();
      const caches_ = await caches.keys();
      return JSON.stringify([
        { ...localStorage }, { ...sessionStorage }, document.cookie, location.href, history.state, window.name,
        document.referrer, document.title, databases, caches_,
        performance.getEntries().map(({ name }) => name),
        document.documentElement.outerHTML,
      ]);
    })()`),
  );
}
