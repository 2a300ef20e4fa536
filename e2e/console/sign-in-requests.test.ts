import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { createClient } from '@baton/sdk';
import { type BatonProcess, program } from '@baton/testing/baton-process';
import { assertAccessible, noBrowser, openPage } from '../testing/browser.ts';
import { type OwnConsole, startOwnConsole } from '../testing/console.ts';

// An administrator registers a provider in the console; people whom Baton doesn't know sign in through it.

describe('people who sign in through a provider for the first time', { skip: noBrowser }, () => {
  let world: OwnConsole;
  let provider: BatonProcess;
  let issuer: string;

  before(async () => {
    // No setting names a provider.
    world = await startOwnConsole({ IAM_OUTBOUND_ALLOWED_HOSTS: '["127.0.0.1"]' });
    provider = program('packages/identity/src/testing/oidc-people.main.ts', [], {
      REDIRECT_URI: `${world.url}/console/callback`,
      CLIENT_SECRET: 'a-secret-that-the-public-client-does-not-use',
    });
    [, issuer = ''] = await provider.prints(/issuer (\S+)/);
  });
  afterEach(() => world?.closePages());
  after(async () => {
    await world?.close();
    provider?.child.kill('SIGTERM');
    await provider?.ended;
  });

  async function enterSecret(page: Page) {
    // The result of the attempt with the own sign-in moves the form, and a click could miss it.
    await page.getByText('requires a sign-in within the last five minutes').waitFor();
    await page.getByText('Use the admin secret').click();
    await page.getByLabel('Admin secret').fill(world.adminSecret);
    await page.getByRole('button', { name: 'Unlock' }).click();
  }
  async function signIn(key: string, who: string) {
    const watched = await openPage(world.browser);
    await watched.page.goto(`${world.url}/sign-in`);
    await watched.page.getByRole('button', { name: `Sign in with ${key}` }).click();
    await watched.page.getByRole('link', { name: who }).click();
    return watched;
  }

  test('have a button without a restart, wait in the inbox, and get in with the role', async () => {
    const { page } = await world.signedIn('/administration?section=providers');
    await enterSecret(page);
    await page.getByText('New identity provider').click();
    await page.getByLabel('Name', { exact: true }).fill('corp');
    await page.getByLabel('Issuer').first().fill(issuer);
    await page.getByLabel('Client ID').first().fill('console-public');
    await page.getByRole('button', { name: 'Register' }).click();
    await page.getByRole('button', { name: 'Test sign-in' }).click();
    const steps = page.getByRole('list', { name: 'Test of corp' }).getByRole('listitem');
    await steps.filter({ hasText: 'accepts client and redirect address' }).waitFor();
    assert.equal(await steps.filter({ hasText: 'passed' }).count(), 3);
    await assertAccessible(page, 'the test of a provider', 'usual');

    await page.getByRole('button', { name: 'Test corp with my own sign-in' }).click();
    await page.getByRole('link', { name: 'ada' }).click();
    await enterSecret(page);
    const seventhOrProblem = steps.nth(6).or(page.getByRole('main').getByRole('alert')).first();
    await seventhOrProblem.waitFor();
    const shown = await page.getByRole('main').innerText();
    assert.equal(await steps.filter({ hasText: 'passed' }).count(), 7, shown);
    const claims = page.getByLabel('Claims of corp');
    await claims.getByText('ada@example.com, verified').waitFor();
    await claims.getByText('becomes a sign-in request').waitFor();
    assert.ok(page.url().endsWith('/administration?section=providers'));
    await assertAccessible(page, 'the test of a provider by a sign-in', 'usual');
    // The test signed nobody in, and created no sign-in request.
    await page.getByRole('navigation', { name: 'Pages' }).getByText('Administrator').first().waitFor();
    const { identity } = createClient({ url: world.url, adminSecret: world.adminSecret });
    assert.deepEqual((await identity.signInRequests.list(world.tenantId)).items, []);

    const first = await signIn('corp', 'ada');
    await first.page.getByText(/Your request has been sent/).waitFor();
    await assertAccessible(first.page, 'the answer to a sign-in request', 'usual');

    const inbox = (await world.signedIn('/inbox')).page;
    await inbox.getByText('Show sign-in requests').click();
    await enterSecret(inbox);
    await inbox.getByText('ada, ada@example.com, from corp').waitFor();
    await assertAccessible(inbox, 'sign-in requests in the inbox', 'usual');
    await inbox.getByRole('link', { name: 'Inbox 1 pending' }).waitFor();
    await inbox.getByLabel('Admit as').selectOption('viewer');
    await inbox.getByRole('button', { name: 'Admit ada' }).click();
    await inbox.getByText('No sign-in requests.').waitFor();

    const { page: hers } = await signIn('corp', 'ada');
    await hers.getByRole('button', { name: 'Sign out' }).waitFor();
    const { items } = await world.baton.people.list({ accessRole: 'viewer' });
    assert.deepEqual(
      items.map(({ displayName }) => displayName),
      ['ada'],
    );

    const second = await signIn('corp', 'eve');
    await second.page.getByText(/Your request has been sent/).waitFor();
    await inbox.reload();
    await inbox.getByText('Show sign-in requests').click();
    await enterSecret(inbox);
    await inbox.getByRole('button', { name: 'Refuse …' }).click();
    await inbox.getByText("They aren't informed.").waitFor();
    await inbox.getByRole('button', { name: 'Refuse', exact: true }).click();
    await inbox.getByText('No sign-in requests.').waitFor();
    await inbox.locator('h2:focus', { hasText: 'Sign-in requests' }).waitFor();
    const again = await signIn('corp', 'eve');
    await again.page.getByText(/Your request has been sent/).waitFor();
  });

  test('can be tested by administrators only, in the session that began the test', async () => {
    const post = (path: string, body: object, cookie = '') =>
      fetch(`${world.url}/console/${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'baton-console-key': 'p'.repeat(43), cookie },
        body: JSON.stringify(body),
      });
    async function cookieOf(token: string) {
      const [cookie = ''] = (await post('sign-in', { token })).headers.getSetCookie();
      return cookie.split(';')[0] as string;
    }
    const outcome = async (answer: Response) => {
      const { error } = (await answer.json()) as { error?: { code: string } };
      return [answer.status, error?.code];
    };
    const member = await world.person(['tasks.read', 'principals.write']);
    const [own, others] = [await cookieOf(world.adminToken), await cookieOf(member.token)];
    const body = { provider: 'corp', test: 'yes' };
    assert.deepEqual(await outcome(await post('provider-sign-in', body, others)), [403, 'permission_denied']);
    assert.deepEqual(await outcome(await post('provider-sign-in', body)), [401, 'signed_out']);

    const begun = await post('provider-sign-in', body, own);
    const { url } = (await begun.json()) as { url: string };
    const [sealed = ''] = begun.headers.getSetCookie();
    const query = new URLSearchParams({
      state: new URL(url).searchParams.get('state') as string,
      error: 'access_denied',
      iss: issuer,
    });
    const callback = () =>
      fetch(`${world.url}/console/callback?${query}`, {
        redirect: 'manual',
        headers: { cookie: sealed.split(';')[0] as string },
      });
    const returned = await callback();
    assert.deepEqual([returned.status, returned.headers.get('location')], [303, '/']);
    assert.ok(returned.headers.getSetCookie().every((cookie) => !cookie.startsWith('baton_console=')));
    assert.equal((await callback()).headers.get('location'), '/sign-in?problem=sign_in_expired');
    const notFound = [404, 'provider_test_not_found'];
    assert.deepEqual(await outcome(await post('provider-test', {}, others)), notFound);
    assert.deepEqual(await (await post('provider-test', {}, own)).json(), {
      provider: 'corp',
      failed: 'authorization',
      code: 'provider_refused',
      detail: 'The identity provider rejected the sign-in. It reported: access_denied',
    });
    assert.deepEqual(await outcome(await post('provider-test', {}, own)), notFound);
  });

  test('get in at once if the provider admits them and coordination allows it', async () => {
    const { identity } = createClient({ url: world.url, adminSecret: world.adminSecret });
    const admit = { role: 'member', domains: ['example.com'], groups: [] };
    const { items: before } = await world.baton.people.list({ accessRole: 'member' });
    assert.deepEqual(before, []);
    const requests = await identity.signInRequests.list(world.tenantId, { status: 'refused' });
    assert.equal(requests.items.length, 1);
    await identity.identityProviders.update(world.tenantId, 'corp', { admit });
    // So far only identity's administrator allows the provider's people in; coordination has no rule for them yet.
    const refused = await signIn('corp', 'bob');
    await refused.page.getByText(/does not have access to Baton yet/).waitFor();
    await world.baton.admissionRules.set('corp', { accessRole: 'member' });
    const { page } = await signIn('corp', 'bob');
    await page.getByRole('button', { name: 'Sign out' }).waitFor();
    const { items } = await world.baton.people.list({ accessRole: 'member' });
    assert.deepEqual(
      items.map(({ displayName }) => displayName),
      ['bob'],
    );
  });
});
