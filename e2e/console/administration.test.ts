import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { BatonError, createClient } from '@baton/sdk';
import { longTest } from '@baton/testing/depth';
import { assertAccessible, isGone, noBrowser, until } from '../testing/browser.ts';
import { type RunningConsole, startConsole } from '../testing/console.ts';
import { settled } from '../testing/console-pages.ts';

// Identity's administration in a real browser, verified against the services.

describe('the administration', { skip: noBrowser }, () => {
  let world: RunningConsole;
  let identity: ReturnType<typeof createClient>['identity'];
  let tenantId: string;

  before(async () => {
    world = await startConsole();
    ({ tenantId } = world);
    ({ identity } = createClient({ url: world.url, adminSecret: world.adminSecret }));
  });
  afterEach(() => world?.closePages());
  after(() => world?.close());

  async function open(section: string, options = {}) {
    const watched = await world.signedIn(`/administration?section=${section}`, options);
    await enterSecret(watched.page, world.adminSecret);
    await watched.page.getByRole('button', { name: 'Lock administration' }).waitFor();
    return watched;
  }
  async function enterSecret(page: Page, secret: string) {
    const field = page.getByLabel('Admin secret');
    const gate = page.getByText('Use the admin secret');
    await gate.waitFor();
    if (!(await field.isVisible())) await gate.click();
    await field.fill(secret);
    await field.press('Enter');
  }
  const audienceOf = async (token: string) => {
    const client = createClient({ url: world.url, credential: { token } });
    return (await client.harness.getContext()).principal;
  };
  const isRefused = (token: string) =>
    assert.rejects(
      audienceOf(token),
      (error: unknown) => error instanceof BatonError && error.status === 401,
    );

  test('the admin secret is kept in memory only, and discarded on reload, on demand, after 15 idle minutes and at sign-out', async () => {
    const { page, complaints } = await world.signedIn();
    const requests: string[] = [];
    page.on('request', (request) => requests.push(`${request.url()} ${request.postData() ?? ''}`));
    await page.keyboard.press('g');
    await page.keyboard.press('d');
    await page.getByRole('heading', { name: 'Administration' }).waitFor();
    await enterSecret(page, 'not-the-secret');
    await page.getByText(/^unauthorized · \w/).waitFor();
    assert.equal(await page.getByLabel('Admin secret').inputValue(), '');
    await enterSecret(page, world.adminSecret);
    const line = page.getByRole('listitem').filter({ hasText: 'Administrator' });
    await line.waitFor();
    const kept = await page.evaluate(
      'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, history.state, location.href])',
    );
    assert.doesNotMatch(String(kept), new RegExp(world.adminSecret));
    assert.equal(requests.filter((text) => text.includes(world.adminSecret)).length, 0);
    await page.getByRole('button', { name: 'Lock administration' }).click();
    await page.getByText('Use the admin secret').waitFor();
    await enterSecret(page, world.adminSecret);
    await line.waitFor();
    await page.reload();
    await page.getByText('Use the admin secret').waitFor();

    await page.clock.install();
    await enterSecret(page, world.adminSecret);
    await line.waitFor();
    await page.clock.runFor(14 * 60_000);
    await page.keyboard.press('Shift');
    await page.clock.runFor(14 * 60_000);
    assert.equal(await line.count(), 1);
    await page.clock.runFor(2 * 60_000);
    await page.getByText('Use the admin secret').waitFor();
    // The clock's jump times out calls in progress, so the first attempt may fail.
    for (let tries = 0; tries < 6 && (await line.count()) === 0; tries += 1) {
      await enterSecret(page, world.adminSecret);
      await line.waitFor({ timeout: 10_000 }).catch(() => undefined);
    }
    await line.waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in to Baton' }).waitFor();
    assert.doesNotMatch(world.output(), new RegExp(world.adminSecret));
    assert.deepEqual(complaints, []);
  });

  test('by keyboard alone: an agent is created and admitted, gets a token that is shown once, and loses it when it is disabled', async () => {
    const { page, complaints } = await world.signedIn('/people');
    const { keyboard } = page;
    await page.getByText(/^Also show open invitations/).focus();
    await keyboard.press('Enter');
    await page.getByText('Use the admin secret').focus();
    await keyboard.press('Enter');
    await page.getByLabel('Admin secret').focus();
    await keyboard.type(world.adminSecret);
    await keyboard.press('Enter');
    await page.getByText('New agent or program').focus();
    await keyboard.press('Enter');
    await page.getByLabel('Name', { exact: true }).focus();
    await keyboard.type('Deploy bot');
    await keyboard.press('Enter');
    await page.getByRole('link', { name: 'Deploy bot' }).waitFor();
    await page.locator('#content').focus();
    await keyboard.press('g');
    await keyboard.press('d');
    await page.getByText('New token').focus();
    await keyboard.press('Enter');
    await page.getByRole('option', { name: /Deploy bot/ }).waitFor({ state: 'attached' });
    await page.getByLabel('Principal').focus();
    await keyboard.type('Deploy');
    await page.getByLabel('Name').focus();
    await keyboard.type('laptop');
    await keyboard.press('Enter');
    const secret = page.getByRole('status').locator('code');
    const token = await secret.innerText();
    assert.equal((await audienceOf(token)).displayName, 'Deploy bot');
    await page.getByRole('button', { name: 'Done' }).focus();
    await keyboard.press('Enter');
    await secret.waitFor({ state: 'detached' });
    assert.doesNotMatch(await page.content(), new RegExp(token));
    await page.locator('#content').focus();
    await keyboard.press('g');
    await keyboard.press('m');
    await page.getByRole('link', { name: 'Deploy bot' }).focus();
    await keyboard.press('Enter');
    await page.getByRole('button', { name: 'Disable …' }).focus();
    await keyboard.press('Enter');
    await keyboard.type('It is retired');
    await keyboard.press('Enter');
    await page.getByRole('button', { name: 'Enable' }).waitFor();
    await isRefused(token);
    assert.deepEqual(complaints, []);
  });

  test('a token is rotated and revoked; a person gets one after a sign-in was recorded', async () => {
    const { page, complaints } = await open('tokens');
    const { id } = await identity.principals.create(tenantId, { kind: 'human', displayName: 'Maria' });
    // By this browser's clock, a 30-day token has expired, but only Baton's clock counts.
    await page.addInitScript('{ const now = Date.now; Date.now = () => now() + 31 * 86_400_000; }');
    await page.reload();
    await enterSecret(page, world.adminSecret);
    await page.getByText('New token').click();
    await page.getByLabel('Principal').selectOption(id);
    await page.getByLabel('Name').fill('of maria');
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByText('This person has no recorded sign-in.').waitFor();
    await page.getByLabel(/I verified/).check();
    await page.getByRole('button', { name: 'Create' }).click();
    const secret = page.getByRole('status').locator('code');
    const first = await secret.innerText();
    await page.getByRole('button', { name: 'Done' }).click();
    const line = page.getByRole('listitem').filter({ hasText: 'of maria' });
    await line.getByRole('button', { name: 'Rotate …' }).click();
    await line.getByRole('button', { name: 'Rotate', exact: true }).click();
    await secret.waitFor();
    const second = await secret.innerText();
    const exchange = (token: string) =>
      identity.platformAccessTokens.exchange({ token, audience: 'control-plane' });
    await assert.rejects(exchange(first));
    await exchange(second);
    await page.getByRole('button', { name: 'Done' }).click();
    await line.getByRole('button', { name: 'Revoke …' }).click();
    await page.getByLabel('Reason (optional)').fill('Lost');
    await line.getByRole('button', { name: 'Revoke', exact: true }).click();
    await line.waitFor({ state: 'detached' });
    await assert.rejects(exchange(second));
    await page.getByLabel('Show revoked').check();
    await line.filter({ hasText: 'Lost' }).waitFor();
    assert.deepEqual(complaints, []);
  });

  test('tokens beyond one page are shown page by page', async () => {
    const { id } = await identity.principals.create(tenantId, { kind: 'agent', displayName: 'Hoarder' });
    const make = (n: number) =>
      identity.principals.createToken(tenantId, id, { name: `key-${n}`, audiences: ['control-plane'] });
    for (let n = 0; n < 102; n += 17)
      await Promise.all(Array.from({ length: 17 }, (_, more) => make(n + more)));
    const { page } = await open('tokens');
    const asked: string[] = [];
    page.on('request', (request) => asked.push(new URL(request.url()).pathname));
    const lines = page.getByRole('listitem').filter({ hasText: 'Hoarder' });
    await page.getByRole('button', { name: 'Show more' }).click();
    const untilHoarderHas = (count: number) =>
      until(
        page,
        `[...document.querySelectorAll('main li')].filter((li) => li.innerText.includes('Hoarder')).length === ${count}`,
      );
    await untilHoarderHas(102);
    await isGone(page.getByRole('button', { name: 'Show more' }));
    // An action refetches the list, but not the names in it.
    asked.length = 0;
    await lines.first().getByRole('button', { name: 'Revoke …' }).click();
    await page.keyboard.press('Enter');
    await untilHoarderHas(101);
    assert.equal(asked.filter((path) => path.includes('/principals/')).length, 0);
  });

  longTest(
    'service accounts, providers, directories, groups and roles are created and disabled',
    async () => {
      const { page, complaints } = await open('service-accounts');
      const go = (name: string) => page.getByRole('link', { name, exact: true }).click();
      const item = (text: string) => page.getByRole('listitem').filter({ hasText: text });
      await page.getByText('New service account').click();
      await page.getByLabel('Name').fill('Directory writer');
      await page.getByLabel('control-plane', { exact: true }).uncheck();
      await page.getByLabel('iam-scim', { exact: true }).check();
      await page.getByRole('button', { name: 'Create' }).click();
      const secret = page.getByRole('status').locator('code');
      const before = await secret.innerText();
      await page.getByRole('button', { name: 'Done' }).click();
      const account = item('Directory writer');
      await account.getByRole('button', { name: 'Rotate secret …' }).click();
      await account.getByRole('button', { name: 'Rotate secret', exact: true }).click();
      await secret.waitFor();
      const clientSecret = await secret.innerText();
      assert.notEqual(clientSecret, before);
      await page.getByRole('button', { name: 'Done' }).click();
      const { items } = await identity.serviceAccounts.list(tenantId);
      const { clientId } = items.find(({ displayName }) => displayName === 'Directory writer') ?? {};
      await identity.tokens.exchange({ clientId: clientId as string, clientSecret, audience: 'iam-scim' });

      await go('Identity providers');
      await page.getByText('New identity provider').click();
      await page.getByLabel('Name', { exact: true }).fill('corporate');
      await page.getByLabel('Issuer').fill('https://login.example.com');
      await page.getByLabel('Client ID').fill('baton');
      await page.getByText('Advanced').click();
      await page.getByLabel('User provisioning').selectOption('managed');
      await page.getByRole('button', { name: 'Register' }).click();
      await item('corporate').getByRole('button', { name: 'Disable …' }).click();
      await item('corporate').getByRole('button', { name: 'Disable', exact: true }).click();
      // The clicked button was disabled and then removed; its replacement has the focus.
      await item('corporate').locator('button:focus', { hasText: 'Enable' }).waitFor();
      await item('corporate').getByRole('button', { name: 'Enable' }).click();
      await item('corporate').getByText('active').waitFor();

      await go('Directories');
      await page.getByText('New directory').click();
      await page.getByLabel('Key').fill('entra');
      await page.getByLabel('Identity provider').selectOption('corporate');
      await page.getByLabel('Service account').selectOption({ label: 'Directory writer (service account)' });
      await page.getByRole('button', { name: 'Register' }).click();
      await item('entra').getByRole('button', { name: 'Tokens' }).click();
      await page.getByText('New directory token').click();
      await page.getByLabel('Name').fill('Entra ID');
      await page.getByRole('button', { name: 'Create' }).click();
      const provisioningToken = await secret.innerText();
      const scim = createClient({ url: world.url, provisioningToken }).identity.scim;
      assert.equal((await scim.listUsers()).totalResults, 0);

      await go('Groups');
      await page.getByText('New group').click();
      await page.getByLabel('Key').fill('engineers');
      await page.getByLabel('Name').fill('Engineers');
      await page.getByRole('button', { name: 'Create' }).click();
      await item('Engineers').getByRole('button', { name: 'Members' }).click();
      await page.getByText('Add to Engineers').click();
      await page.locator('select[name=principal]').selectOption({ label: 'Administrator (human)' });
      await page.getByRole('button', { name: 'Add' }).click();
      await item('Engineers').getByRole('listitem').filter({ hasText: 'Administrator' }).waitFor();

      await go('Roles');
      await page.getByText('New role').click();
      await page.getByLabel('Name', { exact: true }).fill('Reviewer');
      await page.getByLabel('Slug').fill('reviewer');
      await page.getByRole('button', { name: 'Create' }).click();
      await item('Reviewer').getByRole('button', { name: 'Holders' }).click();
      await page.getByText('Assign Reviewer').click();
      await page.locator('select[name=principal]').selectOption(world.me);
      await page.getByRole('button', { name: 'Assign', exact: true }).click();
      const holder = item('Reviewer').getByRole('listitem').filter({ hasText: 'Administrator' });
      await holder.waitFor();
      const roles = await world.baton.principals.listRoles(world.me);
      assert.deepEqual(
        roles.items.map(({ role }) => role.slug),
        ['reviewer'],
      );
      await holder.getByRole('button', { name: 'Revoke …' }).click();
      await holder.getByRole('button', { name: 'Revoke', exact: true }).click();
      await page.getByText('No holders.').waitFor();

      await go('Audit log');
      await page.getByLabel('Action').fill('groups.create');
      await page.getByRole('button', { name: 'Filter', exact: true }).click();
      await item('groups.create').locator('summary').click();
      await item('groups.create').getByText('group', { exact: true }).waitFor();
      const request = await item('groups.create').getByText(/^req_/).innerText();
      await page.getByLabel('Action').fill('');
      await page.getByLabel('Request').fill(request);
      await page.getByRole('button', { name: 'Filter', exact: true }).click();
      await item('groups.create').waitFor();
      assert.equal(await page.locator('main ul > li details').count(), 1);
      await page.getByText('Verify the audit log').click();
      await page.getByText(/baton identity audit verify --key/).waitFor();
      await go('Signing keys');
      await item('RS256').waitFor();
      assert.deepEqual(complaints, []);
    },
  );

  longTest('axe finds nothing in any section, in light and dark, wide and narrow', async () => {
    await identity.groups.create(tenantId, { key: 'reviewed', name: 'Reviewed' });
    for (const [colorScheme, width] of [
      ['light', 1280],
      ['dark', 390],
    ] as const) {
      const { page, complaints } = await world.signedIn('/administration', {
        colorScheme,
        viewport: { width, height: 800 },
      });
      await page.getByText('Use the admin secret').waitFor();
      await assertAccessible(page, `gate ${colorScheme} ${width}`);
      await enterSecret(page, world.adminSecret);
      for (const [name, opens] of [
        ['Roles', 'New role'],
        ['Tokens', 'New token'],
        ['Service accounts', 'New service account'],
        ['Identity providers', 'New identity provider'],
        ['Directories', 'New directory'],
        ['Groups', 'New group'],
        ['Audit log', undefined],
        ['Signing keys', undefined],
      ] as const) {
        await page.getByRole('link', { name, exact: true }).click();
        if (opens !== undefined) await page.getByText(opens, { exact: true }).click();
        await settled(page);
        await assertAccessible(page, `${name} ${colorScheme} ${width}`);
        assert.equal(await page.evaluate('document.documentElement.scrollWidth > innerWidth'), false, name);
      }
      assert.deepEqual(complaints, []);
    }
  });
});
