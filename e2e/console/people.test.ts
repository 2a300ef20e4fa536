import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { BatonError, createClient } from '@baton/sdk';
import { assertAccessible, noBrowser } from '../testing/browser.ts';
import { type RunningConsole, startConsole } from '../testing/console.ts';
import { settled } from '../testing/console-pages.ts';

// People and agents in a real browser, verified against the services.

describe('people and agents', { skip: noBrowser }, () => {
  let world: RunningConsole;
  let identity: ReturnType<typeof createClient>['identity'];

  before(async () => {
    world = await startConsole();
    ({ identity } = createClient({ url: world.url, adminSecret: world.adminSecret }));
  });
  afterEach(() => world?.closePages());
  after(() => world?.close());

  async function unlock(page: Page) {
    // The last button with this text is that of the open dialog.
    await page.getByText('Use the admin secret').last().click();
    const field = page.getByLabel('Admin secret').last();
    await field.fill(world.adminSecret);
    await field.press('Enter');
  }
  const line = (page: Page, text: string) => page.getByRole('listitem').filter({ hasText: text });
  const secretIn = (link: string) => link.split('#')[1] ?? '';

  test('by keyboard alone: a person is invited with a role, the link is shown once, and it is revoked', async () => {
    const { page, complaints } = await world.signedIn('/');
    const { keyboard } = page;
    await keyboard.press('g');
    await keyboard.press('m');
    await page.getByRole('heading', { name: 'People and agents' }).waitFor();
    await page.getByRole('button', { name: 'Invite a person' }).focus();
    await keyboard.press('Enter');
    const dialog = page.getByRole('dialog');
    // This button takes the focus when it appears.
    await dialog.getByRole('button', { name: "Confirm that it's you" }).waitFor();
    await dialog.getByText('Use the admin secret').focus();
    await keyboard.press('Enter');
    await dialog.getByLabel('Admin secret').focus();
    await keyboard.type(world.adminSecret);
    await keyboard.press('Enter');
    const name = dialog.getByLabel('Name', { exact: true });
    await name.waitFor();
    await keyboard.type('Maria Lopez');
    await keyboard.press('Tab');
    await keyboard.type('maria@example.com');
    await keyboard.press('Tab');
    await keyboard.type('Viewer');
    await name.focus();
    await keyboard.press('Enter');
    const link = await dialog.locator('code').first().innerText();
    assert.ok(
      link.startsWith(`${world.url.replace('127.0.0.1', 'localhost')}/invite#iam_inv_`),
      link.replace(/#.*/, ''),
    );
    const shown = await identity.invitations.read({ token: secretIn(link) });
    assert.deepEqual(
      [shown.displayName, shown.role, shown.invitedBy],
      ['Maria Lopez', 'viewer', 'Administrator'],
    );
    // A key that is pressed outside the dialog discards nothing; only Done does.
    await dialog.getByRole('button', { name: 'Done' }).focus();
    await keyboard.press('Enter');
    await dialog.waitFor({ state: 'detached' });
    assert.doesNotMatch(await page.content(), /iam_inv_/);
    await line(page, 'invited, not accepted yet').filter({ hasText: 'Maria Lopez' }).waitFor();
    const { items } = await world.baton.people.list({ q: 'Maria Lopez' });
    assert.deepEqual(
      items.map(({ accessRole, email }) => [accessRole, email]),
      [['viewer', 'maria@example.com']],
    );
    const kept = await page.evaluate(
      'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, history.state, location.href])',
    );
    assert.doesNotMatch(String(kept), /iam_inv_/);

    const invitations = page.getByRole('region', { name: 'Open invitations' });
    await invitations.getByRole('button', { name: 'Revoke …' }).focus();
    await keyboard.press('Enter');
    await keyboard.type('a mistake');
    await keyboard.press('Enter');
    await invitations.getByText('No open invitations.').waitFor();
    await assert.rejects(
      identity.invitations.read({ token: secretIn(link) }),
      (error: unknown) => error instanceof BatonError && error.code === 'invalid_invitation',
    );
    assert.doesNotMatch(world.output(), /iam_inv_\w+_/);
    assert.deepEqual(complaints, []);
  });

  test('a change of the role applies to the open pages of the person, and disabling ends their access everywhere', async () => {
    const grace = await world.person(['tasks.read', 'principals.read']);
    const { id, displayName } = (await grace.baton.harness.getContext()).principal;
    const hers = await world.signedIn('/people', {}, grace.token);
    await hers.page.getByText('To invite people and change their access').waitFor();
    const { page, complaints } = await world.signedIn(`/people/${id}`);
    await page.getByText('2 permissions without an access role').waitFor();
    await page.getByLabel('Change the role to').selectOption('lead');
    await page.getByRole('button', { name: 'Change role' }).click();
    await page.getByText(/^With the role lead, /).waitFor();
    const { permissions } = await grace.baton.harness.getContext();
    assert.ok(permissions.includes('goals.write'), permissions.join());

    await page.getByText(/^Manage passkeys/).click();
    await unlock(page);
    await page.getByText('In identity, all tokens and browser sessions end.').waitFor();
    await page.getByRole('button', { name: 'Disable …' }).click();
    await page.getByLabel('Reason (optional)').fill('left');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Enable' }).waitFor();
    const fresh = createClient({ url: world.url, credential: { token: grace.token } });
    await assert.rejects(
      fresh.harness.getContext(),
      (error: unknown) => error instanceof BatonError && error.status === 401,
    );
    await page.getByRole('button', { name: 'Enable' }).click();
    await page.getByText(/^With the role member, /).waitFor();
    const person = await world.baton.people.get(id);
    assert.deepEqual(
      [person.displayName, person.status, person.accessRole],
      [displayName, 'active', 'member'],
    );
    assert.deepEqual(complaints, []);
  });

  test('who exists in one service only is in the list, with the reason, and gets access', async () => {
    const { tenantId, baton } = world;
    await identity.principals.create(tenantId, { kind: 'agent', displayName: 'Only at identity' });
    await baton.principals.create({ kind: 'agent', displayName: 'Only here' });
    const { page, complaints } = await world.signedIn('/people?state=no_access');
    await page.getByText(/^Also show/).click();
    await unlock(page);
    await line(page, "can't sign in: no identity is bound").filter({ hasText: 'Only here' }).waitFor();
    await line(page, 'has an identity, but no access here yet').waitFor();
    await page.getByRole('link', { name: 'Only at identity' }).click();
    // Wait for the page, because the list has a field of that name, too.
    await page.getByRole('heading', { name: 'Only at identity' }).waitFor();
    await page.getByLabel('Role').selectOption('member');
    await page.getByRole('button', { name: 'Give access' }).click();
    await page.getByText(/^With the role member, /).waitFor();
    const { items } = await baton.people.list({ q: 'Only at identity' });
    assert.deepEqual(
      items.map(({ accessRole, kind }) => [accessRole, kind]),
      [['member', 'agent']],
    );
    assert.deepEqual(complaints, []);
  });

  test('a role is created, given, changed and deleted', async () => {
    const { baton } = world;
    const grace = await world.person(['tasks.read']);
    const setRole = async (accessRole: string) => {
      const { version } = await baton.principals.getAccess(grace.principalId);
      const ifMatch = `"principal_access-${version}"`;
      await baton.principals.setAccess(grace.principalId, { accessRole }, { ifMatch });
    };
    const { page, complaints } = await world.signedIn('/people/roles');
    await page.getByText('New role').click();
    await page.getByLabel('Name', { exact: true }).fill('Planner');
    await page.getByLabel('Key').fill('planner');
    await page.getByRole('checkbox', { name: /tasks\.read/ }).check();
    await page.getByRole('button', { name: 'Create' }).click();
    await line(page, 'Planner').waitFor();
    await setRole('planner');
    await page.getByRole('button', { name: 'Edit Planner' }).click();
    await page
      .getByRole('checkbox', { name: /goals\.read/ })
      .last()
      .check();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('button', { name: 'Cancel' }).waitFor({ state: 'detached' });
    assert.deepEqual((await baton.people.get(grace.principalId)).permissions, ['goals.read', 'tasks.read']);
    await line(page, 'Planner').getByRole('button', { name: 'Delete …' }).click();
    await line(page, 'Planner').getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByText('access_role_in_use').waitFor();
    await setRole('viewer');
    await line(page, 'Planner').getByRole('button', { name: 'Delete', exact: true }).click();
    await line(page, 'Planner').waitFor({ state: 'detached' });
    assert.deepEqual(complaints, []);
  });

  test('axe finds nothing on the pages and in the dialog, in light and dark, wide and narrow', async () => {
    const evil = '<img src=x onerror="window.ran=1">';
    const { id } = await world.baton.principals.create({ kind: 'agent', displayName: `Evil ${evil}` });
    for (const [colorScheme, width] of [
      ['light', 1280],
      ['dark', 390],
    ] as const) {
      const { page, complaints } = await world.signedIn('/people', {
        colorScheme,
        viewport: { width, height: 800 },
      });
      const look = async (name: string) => {
        await assertAccessible(page, `${name} ${colorScheme} ${width}`, 'usual');
        assert.equal(await page.evaluate('document.documentElement.scrollWidth > innerWidth'), false, name);
      };
      await look('the locked list');
      await page.getByRole('button', { name: 'Invite a person' }).click();
      await page.getByRole('dialog').getByText('Use the admin secret').waitFor();
      await look('the locked dialog');
      await unlock(page);
      await page.getByRole('dialog').getByLabel('Name', { exact: true }).fill(`Person ${colorScheme}`);
      await look('the dialog');
      await page.keyboard.press('Enter');
      await page.getByRole('dialog').locator('code').first().waitFor();
      await look('the link');
      await page.getByRole('dialog').getByRole('button', { name: 'Done' }).click();
      await line(page, `Person ${colorScheme}`).first().waitFor();
      await look('the list');
      await page.getByRole('link', { name: 'Access roles' }).click();
      await page.getByText('New role').click();
      await page.getByRole('button', { name: 'What it allows: Member' }).click();
      await settled(page);
      await look('the roles');
      await page.goto(`${world.url}/people/${id}`);
      await page.getByText('No access: no sign-in is linked.').waitFor();
      await look('a person without access');
      await page.goto(`${world.url}/people/${world.me}`);
      await page.getByText('The role').first().waitFor();
      await page.getByLabel('Change the role to').selectOption('viewer');
      await page.getByText(/^What .* allows$/).click();
      await look('a person');
      assert.equal(await page.evaluate('window.ran'), undefined);
      assert.deepEqual(complaints, []);
    }
  });
});
