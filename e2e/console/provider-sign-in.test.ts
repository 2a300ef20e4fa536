import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BrowserContext, Page } from 'playwright-core';
import { createClient } from '@baton/sdk';
import { type BatonProcess, program } from '@baton/testing/baton-process';
import { byDepth, isLongProof, longTest } from '@baton/testing/depth';
import { assertAccessible, noBrowser, openPage, untilLoaded } from '../testing/browser.ts';
import { type OwnConsole, startOwnConsole } from '../testing/console.ts';
import { settled } from '../testing/console-pages.ts';
import { invitePerson } from '../testing/passkeys.ts';

// Sign-in with an identity provider (the package `oidc-provider`) in a real browser.

const clientSecret = 'the-secret-of-the-console-at-the-provider';

/** Screenshots for a person, if this names a folder. */
const pictures = process.env['BATON_TEST_PICTURES'];

describe('signing in to the console through an identity provider', { skip: noBrowser }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'baton-providers-'));
  let world: OwnConsole;
  let identity: ReturnType<typeof createClient>['identity'];
  const providers: BatonProcess[] = [];
  const closers: (() => unknown)[] = [];
  let url: string;
  let tenantId: string;

  before(async () => {
    writeFileSync(join(folder, 'secrets'), `corporate:${clientSecret}\n`, { mode: 0o600 });
    world = await startOwnConsole({
      BATON_CONSOLE_PROVIDERS: '["corporate","short","renewed","local"]',
      BATON_CONSOLE_SECRETS_FILE: join(folder, 'secrets'),
      IAM_OUTBOUND_ALLOWED_HOSTS: '["127.0.0.1"]',
    });
    ({ url, tenantId } = world);
    ({ identity } = createClient({ url, adminSecret: world.adminSecret }));
    await register('corporate', 'console', {});
    // An ID token counts as expired 10 s early: the short one expires during the test, the other one is renewed each
    // time.
    await register('short', 'console-public', { ID_TOKEN_SECONDS: byDepth('300', '40') });
    await register('renewed', 'console-public', { ID_TOKEN_SECONDS: '10', HAS_REFRESH: 'yes' });
  });
  afterEach(() => world?.closePages());
  after(async () => {
    await world?.close();
    for (const close of closers) close();
    for (const { child, ended } of providers) {
      child.kill('SIGTERM');
      await ended;
    }
    rmSync(folder, { recursive: true, force: true });
  });

  async function register(key: string, audience: string, env: Record<string, string>, at = url) {
    const provider = program('packages/identity/src/testing/oidc-people.main.ts', [], {
      ...env,
      REDIRECT_URI: `${at}/console/callback`,
      CLIENT_SECRET: clientSecret,
    });
    providers.push(provider);
    const [, issuer = ''] = await provider.prints(/issuer (\S+)/);
    await identity.identityProviders.create(tenantId, { key, issuer, audience, displayNameClaim: 'name' });
  }
  /** Grants a person who has signed in all read permissions. */
  async function admit(displayName: string) {
    const { items } = await identity.principals.list(tenantId, { kind: 'human' });
    const issuer = JSON.parse(
      Buffer.from((await world.baton.accessToken?.get())?.split('.')[1] as string, 'base64url').toString(),
    ).iss;
    for (const { id } of items.filter(({ display_name }) => display_name === displayName)) {
      const { id: principal } = await world.baton.principals.create({ kind: 'human', displayName });
      await world.baton.principals.createIamBinding(principal, {
        issuer,
        iamTenantId: tenantId,
        iamPrincipalId: id,
        permissions: ['tasks.read', 'events.read'],
      });
    }
  }
  async function begin(provider: string, path = '/') {
    const watched = await openPage(world.browser);
    await watched.page.goto(url + path);
    await watched.page.getByRole('button', { name: `Sign in with ${provider}` }).click();
    await watched.page.getByRole('heading', { name: 'Who are you?' }).waitFor();
    return watched;
  }
  const problem = (page: Page, code: string) =>
    page.getByRole('alert').getByText(code, { exact: true }).waitFor();
  const choose = (page: Page, who: string) => page.getByRole('link', { name: who }).click();
  /** The URL to which the provider redirects the browser; the redirect is intercepted. */
  async function stoppedCallback(page: Page, who: string): Promise<string> {
    let at = new URL((await page.getByRole('link', { name: who }).getAttribute('href')) as string, page.url())
      .href;
    for (let step = 0; step < 5 && !at.startsWith(`${url}/console/callback`); step += 1) {
      const { location } = (await page.request.get(at, { maxRedirects: 0 })).headers();
      at = new URL(location as string, at).href;
    }
    assert.match(at, /\/console\/callback\?/);
    return at;
  }
  const cookiesOf = async (context: BrowserContext) =>
    (await context.cookies()).filter(({ name }) => name.startsWith('baton'));

  test('a person signs in, reaches the requested page, and gets no token that outlives the page', async () => {
    const first = await begin('corporate');
    await choose(first.page, 'ada');
    await first.page.getByText(/does not have access to Baton yet/).waitFor();
    await admit('ada');
    const { page, complaints } = await begin('corporate', '/journal?types=task.');
    const seen: string[] = [];
    page.on('response', (response) => {
      if (response.url().startsWith(`${url}/console/`)) seen.push(response.url());
    });
    await choose(page, 'ada');
    await page.getByRole('heading', { name: 'Journal' }).waitFor();
    assert.equal(page.url(), `${url}/journal?types=task.`);
    await page.getByText('ada').first().waitFor();
    const cookies = await cookiesOf(page.context());
    assert.deepEqual(
      cookies.map(({ name, httpOnly, sameSite, path }) => [name, httpOnly, sameSite, path]),
      [['baton_console', true, 'Strict', '/console']],
    );
    const stored = await page.evaluate(
      'JSON.stringify([Object.values({ ...localStorage, ...sessionStorage }), document.cookie, location.href])',
    );
    assert.doesNotMatch(String(stored), /eyJ/);
    await page.reload();
    await page.getByRole('heading', { name: 'Journal' }).waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in to Baton' }).waitFor();
    assert.doesNotMatch(world.output(), /eyJ|the-secret-of-the-console/);
    assert.deepEqual(complaints, []);
  });

  test('a callback is valid once, in the browser that started the sign-in, with its own state', async () => {
    const { page } = await begin('corporate');
    const callback = await stoppedCallback(page, 'ada');
    const forged = new URL(callback);
    forged.searchParams.set('state', 'A'.repeat(43));
    await page.goto(forged.href);
    await problem(page, 'sign_in_expired');
    // Any site can send a browser to such a URL, so the pending sign-in stays valid.
    await page.goto(callback);
    await page.getByRole('navigation').waitFor();

    const other = await begin('corporate');
    const stolen = await stoppedCallback(other.page, 'ada');
    const thief = await openPage(world.browser);
    await thief.page.goto(stolen);
    await problem(thief.page, 'sign_in_of_another');
    assert.deepEqual(await cookiesOf(thief.page.context()), []);

    const good = await begin('corporate');
    const once = await stoppedCallback(good.page, 'ada');
    await good.page.goto(once);
    await good.page.getByRole('navigation').waitFor();
    const again = await openPage(world.browser);
    await again.page.goto(once);
    await problem(again.page, 'sign_in_expired');
    await again.page.goto(`${url}/console/callback`);
    await problem(again.page, 'sign_in_expired');
  });

  test('a cookie of a sign-in that somebody else has begun, planted by another port, signs nobody in', async () => {
    const attacker = await begin('corporate');
    const callback = await stoppedCallback(attacker.page, 'ada');
    const [begun] = (await cookiesOf(attacker.page.context())).filter(({ name }) => name.endsWith('_begin'));
    assert.ok(begun);
    const victim = await openPage(world.browser);
    await victim.page.context().addCookies([begun]);
    await victim.page.goto(callback);
    await victim.page.getByRole('heading', { name: 'Sign in to Baton' }).waitFor();
    await victim.page.goto(url);
    await victim.page.getByRole('heading', { name: 'Sign in to Baton' }).waitFor();
  });

  test('a sign-in through another site ends the earlier session, although its cookie is not sent', async () => {
    const { page } = await world.signedIn();
    const [before] = await cookiesOf(page.context());
    assert.equal(before?.name, 'baton_console');
    const key = String(await page.evaluate("localStorage.getItem('baton.console-key')"));
    await page.goto(`${url}/sign-in`);
    await page.getByRole('button', { name: 'Sign in with corporate' }).click();
    await page.getByRole('heading', { name: 'Who are you?' }).waitFor();
    const callback = await stoppedCallback(page, 'ada');
    const begun = (await cookiesOf(page.context())).find(({ name }) => name === 'baton_console_begin');
    const tokenStatus = async () => {
      const cookie = `baton_console=${before?.value}`;
      const headers = { 'content-type': 'application/json', 'baton-console-key': key, cookie };
      return (await fetch(`${url}/console/token`, { method: 'POST', headers, body: '{}' })).status;
    };
    assert.equal(await tokenStatus(), 200);
    const headers = { cookie: `baton_console_begin=${begun?.value}` };
    const answer = await fetch(callback, { headers, redirect: 'manual' });
    assert.match(answer.headers.get('set-cookie') ?? '', /baton_console=[\w-]{43}/);
    assert.equal(await tokenStatus(), 401);
  });

  test('a response from another provider, or a code of another sign-in, is rejected', async () => {
    const { page } = await begin('corporate');
    const mixed = new URL(await stoppedCallback(page, 'ada'));
    mixed.searchParams.set('iss', 'https://evil.example');
    await page.goto(mixed.href);
    await problem(page, 'invalid_issuer');
    const mine = await begin('corporate');
    const first = new URL(await stoppedCallback(mine.page, 'ada'));
    const theirs = await begin('corporate');
    const second = new URL(await stoppedCallback(theirs.page, 'bob'));
    // This browser's own state with another person's code: the provider rejects it because of PKCE.
    first.searchParams.set('code', second.searchParams.get('code') as string);
    await mine.page.goto(first.href);
    await problem(mine.page, 'provider_refused');
    const unwilling = await begin('corporate');
    await choose(unwilling.page, 'nobody');
    await problem(unwilling.page, 'provider_refused');
    await assertAccessible(unwilling.page, 'sign-in with a problem');
  });

  test('a token of another audience, or a disabled provider, signs nobody in', async () => {
    const { page } = await begin('corporate');
    const callback = await stoppedCallback(page, 'ada');
    await identity.identityProviders.update(tenantId, 'corporate', { audience: 'another' });
    await page.goto(callback);
    await problem(page, 'invalid_audience');
    await identity.identityProviders.update(tenantId, 'corporate', { audience: 'console' });

    const late = await begin('corporate');
    const address = await stoppedCallback(late.page, 'ada');
    await identity.identityProviders.disable(tenantId, 'corporate');
    await late.page.goto(address);
    await problem(late.page, 'identity_provider_not_found');
    await late.page.getByRole('button', { name: 'Sign in with corporate' }).click();
    await late.page.getByText(/^identity_provider_not_found · /).waitFor();
    await identity.identityProviders.enable(tenantId, 'corporate');

    const { page: inside } = await begin('corporate');
    await choose(inside, 'ada');
    await inside.getByRole('navigation').waitFor();
    // Wait for pending requests: one of them would receive the error first and end the session.
    await untilLoaded(inside);
    await identity.identityProviders.disable(tenantId, 'corporate');
    await inside.reload();
    await problem(inside, 'invalid_token');
    await identity.identityProviders.enable(tenantId, 'corporate');
    await inside.goto(url);
    await inside.getByRole('heading', { name: 'Sign in to Baton' }).waitFor();
  });

  longTest('the session ends with the ID token, unless the provider renews it', async () => {
    const short = await begin('short');
    await choose(short.page, 'bob');
    const renewed = await begin('renewed');
    await choose(renewed.page, 'bob');
    for (const { page } of [short, renewed])
      await page.getByText(/does not have access to Baton yet/).waitFor();
    await admit('bob');
    for (const { page } of [short, renewed]) {
      await page.goto(url);
      await page.getByRole('heading', { name: 'Work' }).waitFor();
    }
    // Only the long proof waits: packages/console/src/provider-sign-in.test.ts already proves that a session without
    // renewal ends at once.
    if (isLongProof) {
      // Leave the page: an open one would end the session itself, and a reload would show a sign-in without a reason.
      await short.page.goto('about:blank');
      await sleep(31_000);
      await short.page.goto(url);
      await problem(short.page, 'sign_in_over');
    }
    // Two concurrent requests must both succeed, although the refresh token is single-use.
    const [second] = await Promise.all([renewed.page.context().newPage(), renewed.page.reload()]);
    await second.goto(url);
    for (const page of [second, renewed.page]) await page.getByRole('heading', { name: 'Work' }).waitFor();
    for (const page of [second, renewed.page]) await settled(page);
    await renewed.page.goto('about:blank');
    await identity.identityProviders.disable(tenantId, 'renewed');
    await second.reload();
    // The ID token may have to be renewed first, which the provider's end prevents.
    await second
      .getByRole('alert')
      .getByText(/^(invalid_token|identity_provider_not_found)$/)
      .waitFor();
  });

  test('an invited person signs in by a provider, and is in with the session of the invitation', async () => {
    await identity.identityProviders.create(tenantId, {
      key: 'unknown-to-the-console',
      issuer: 'https://login.example',
      audience: 'console',
    });
    const invited = await invitePerson(world, 'Invited Bob', { role: 'viewer' });
    const open = async () => {
      const watched = await openPage(world.browser);
      await watched.page.goto(invited.link.replace('localhost', '127.0.0.1'));
      return watched;
    };
    const { page, complaints } = await open();
    await page.getByText('Invited Bob', { exact: true }).waitFor();
    assert.equal(await page.getByRole('button', { name: /unknown-to-the-console/ }).count(), 0);
    await page.getByRole('button', { name: 'Sign in with short' }).click();
    await page.getByRole('heading', { name: 'Who are you?' }).waitFor();
    const pending = await page.context().cookies();
    assert.ok(
      pending.every(({ value }) => !value.includes('iam_inv_')),
      'the cookie is sealed',
    );
    assert.ok(!page.url().includes('iam_inv_'));
    await choose(page, 'ada');
    await page.getByRole('navigation').getByText('Invited Bob', { exact: true }).waitFor();
    await page.goto(`${url}/account`);
    await page.getByText('This browser', { exact: true }).waitFor();
    const list = () => identity.principals.listBrowserSessions(tenantId, invited.iamPrincipalId);
    assert.equal((await list()).items.length, 1);
    await page.getByRole('button', { name: 'Sign out', exact: true }).click();
    await page.getByRole('heading', { name: 'Sign in to Baton' }).waitFor();
    assert.deepEqual((await list()).items, []);
    // The link has been used.
    const again = await open();
    await again.page.getByRole('heading', { name: 'This link is not valid' }).waitFor();
    const late = await invitePerson(world, 'Revoked Meanwhile', { role: 'viewer' });
    await again.page.goto('about:blank');
    await again.page.goto(late.link.replace('localhost', '127.0.0.1'));
    await again.page.getByRole('button', { name: 'Sign in with short' }).click();
    await again.page.getByRole('heading', { name: 'Who are you?' }).waitFor();
    await identity.invitations.revoke(tenantId, late.invitationId);
    await choose(again.page, 'bob');
    await problem(again.page, 'invalid_invitation');
    assert.deepEqual([...complaints, ...again.complaints], []);
  });

  test('a person without a passkey decides about an OAuth client and a device', async () => {
    const local = url.replace('127.0.0.1', 'localhost');
    await register('local', 'console-public', {}, local);
    const resource = `${url}/mcp`;
    const { clientId } = await identity.oauthClients.register(tenantId, {
      name: 'Editor <b>',
      redirectUris: ['http://127.0.0.1/callback'],
    });
    const { page, complaints } = await openPage(world.browser);
    let returned: URL | undefined;
    const receiver = createServer((req, res) => {
      if (req.url?.startsWith('/callback')) returned = new URL(req.url, 'http://client');
      res.setHeader('content-type', 'text/html');
      res.end('<!doctype html><link rel="icon" href="data:,"><title>Client</title>returned');
    });
    receiver.listen(0, '127.0.0.1');
    await once(receiver, 'listening');
    closers.push(
      () => receiver.closeAllConnections(),
      () => receiver.close(),
    );
    const callback = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/callback`;
    const asked = new URLSearchParams({
      response_type: 'code',
      client_id: clientId,
      redirect_uri: callback,
      code_challenge: 'x'.repeat(43),
      code_challenge_method: 'S256',
      resource,
      state: 'of the client',
    });
    const decideAnew = async () => {
      await page.goto(`${url}/iam/oauth2/authorize?${asked}`);
      await page.getByRole('button', { name: 'Sign in another way' }).click();
    };
    await decideAnew();
    await page.getByRole('button', { name: 'Sign in with local' }).click();
    await choose(page, 'eve');
    await page.getByText(/does not have access to Baton yet/).waitFor();
    await admit('eve');

    // The person is signed in now. The provider hasn't stated when they authenticated, so they must authenticate there
    // again.
    await decideAnew();
    await page.getByRole('heading', { name: 'Allow Editor <b> to use Baton?' }).waitFor();
    assert.ok(!page.url().includes('request'), page.url());
    await assertAccessible(page, 'consent', 'usual');
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.setViewportSize({ width: 360, height: 800 });
    await assertAccessible(page, 'consent, dark and narrow', 'usual');
    assert.equal(await page.evaluate('document.documentElement.scrollWidth > innerWidth'), false);
    if (pictures !== undefined)
      await page.screenshot({ path: join(pictures, 'consent.png'), fullPage: true });
    await page.emulateMedia({ colorScheme: 'light' });
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.getByRole('button', { name: 'Allow' }).click();
    await page.getByRole('button', { name: 'Sign in with local again' }).click();
    await choose(page, 'eve');
    await page.getByRole('heading', { name: 'Allow Editor <b> to use Baton?' }).waitFor();
    await page.getByText('Work on tasks and change what you may change').waitFor();
    await page.getByRole('button', { name: 'Allow' }).click();
    await page.getByText('returned').waitFor();
    assert.equal(returned?.searchParams.get('state'), 'of the client');
    assert.ok(returned?.searchParams.has('code'), String(returned));

    const device = (await (
      await fetch(`${url}/iam/oauth2/device-authorization`, {
        method: 'POST',
        body: new URLSearchParams({ client_id: 'baton-cli', resource }),
      })
    ).json()) as Record<string, string>;
    await page.goto(`${local}/iam/oauth2/device`);
    await page.getByLabel('Code that the device shows').fill(String(device['user_code']).toLowerCase());
    await page.getByRole('button', { name: 'Sign in another way' }).click();
    await page.getByText('Allow this only if you started it yourself').waitFor();
    await page.getByRole('button', { name: 'Allow' }).click();
    await page.getByRole('heading', { name: 'Connected' }).waitFor();

    await page.goto(`${local}/account`);
    await page.getByText('This browser', { exact: true }).waitFor();
    assert.deepEqual(complaints, []);
  });

  test('other sites can neither start a sign-in nor choose its destination', async () => {
    const ask = (body: object, headers: Record<string, string> = {}) =>
      fetch(`${url}/console/provider-sign-in`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'baton-console-key': 'A'.repeat(43), ...headers },
        body: JSON.stringify(body),
      });
    assert.equal((await ask({ provider: 'corporate' }, { 'sec-fetch-site': 'cross-site' })).status, 403);
    assert.equal((await ask({ provider: 'corporate' }, { 'content-type': 'text/plain' })).status, 400);
    assert.equal((await ask({ provider: 'corporate' }, { 'baton-console-key': '' })).status, 400);
    assert.equal((await ask({ provider: 'unknown' })).status, 404);
    const elsewhere = await fetch(`${url.replace('127.0.0.1', '[::1]')}/console/provider-sign-in`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ provider: 'corporate' }),
    });
    assert.equal(elsewhere.status, 409);
    const local = url.replace('127.0.0.1', 'localhost');
    const atLocalhost = await fetch(`${local}/console/provider-sign-in`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'baton-console-key': 'A'.repeat(43) },
      body: JSON.stringify({ provider: 'corporate' }),
    });
    const begun = new URL(((await atLocalhost.json()) as { url: string }).url);
    assert.equal(begun.searchParams.get('redirect_uri'), `${local}/console/callback`);
    const { page } = await begin('corporate', `/sign-in?next=${encodeURIComponent('/.//evil.example')}`);
    const asked = new URL(page.url());
    assert.notEqual(asked.origin, url);
    await choose(page, 'ada');
    await page.getByRole('navigation').waitFor();
    assert.equal(page.url(), `${url}/`);
    const answer = await ask({ provider: 'corporate', next: '//evil.example/' });
    const { searchParams } = new URL(((await answer.json()) as { url: string }).url);
    assert.equal(searchParams.get('redirect_uri'), `${url}/console/callback`);
    assert.deepEqual(
      ['code_challenge_method', 'response_type', 'scope'].map((name) => searchParams.get(name)),
      ['S256', 'code', 'openid profile email'],
    );
    assert.match(
      answer.headers.get('set-cookie') ?? '',
      /^baton_console_begin=[\w-]{100,3800}; Path=\/console\/callback; HttpOnly; SameSite=Lax; Max-Age=600$/,
    );
  });
});
