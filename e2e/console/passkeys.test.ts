import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { createClient } from '@baton/sdk';
import { assertTookLess } from '@baton/testing/depth';
import { assertAccessible, isGone, noBrowser, openPage, untilTrue } from '../testing/browser.ts';
import { type RunningConsole, startConsole } from '../testing/console.ts';
import { hostile, mark } from '../testing/hostile-texts.ts';
import { addAuthenticator, type Invited, invitePerson, localUrl } from '../testing/passkeys.ts';

// Invitations, passkeys and recovery in a real browser, with Chromium's virtual authenticator.

describe('passkeys in the console', { skip: noBrowser }, () => {
  let world: RunningConsole;
  let url: string;
  let identity: ReturnType<typeof createClient>['identity'];

  before(async () => {
    world = await startConsole();
    url = localUrl(world);
    ({ identity } = createClient({ url: world.url, adminSecret: world.adminSecret }));
  });
  afterEach(() => world?.closePages());
  after(() => world?.close());

  const navigation = (page: Page) => page.getByRole('navigation', { name: 'Pages' });
  const isSignedInAs = (page: Page, name: string) =>
    navigation(page).getByText(name, { exact: true }).waitFor();
  const isSignedOut = (page: Page) => page.getByRole('heading', { name: 'Sign in to Baton' }).waitFor();
  const refusedWith = (page: Page, code: string) =>
    page
      .getByRole('alert')
      .getByText(new RegExp(`^${code}`))
      .waitFor();

  /** A person with a browser profile of their own. */
  async function newProfile() {
    const watched = await openPage(world.browser);
    return { ...watched, authenticator: await addAuthenticator(watched.page) };
  }
  type Profile = Awaited<ReturnType<typeof newProfile>>;

  async function accept({ page }: Profile, link: string, name: string) {
    await page.goto(link);
    await page.getByRole('button', { name: 'Create a passkey' }).click();
    await isSignedInAs(page, name);
  }
  async function signIn({ page }: Profile, path = '') {
    await page.goto(`${url}/sign-in${path}`);
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
  }
  /** A person who has accepted an invitation. */
  async function member(name: string): Promise<Profile & { invited: Invited }> {
    const profile = await newProfile();
    const invited = await invitePerson(world, name);
    await accept(profile, invited.link, name);
    return { ...profile, invited };
  }
  const sessionsOf = async ({ iamPrincipalId }: Invited) =>
    (await identity.principals.listBrowserSessions(world.tenantId, iamPrincipalId)).items;

  test('an invited person creates a passkey, decides a question, and signs in again in another browser', async () => {
    const profile = await newProfile();
    const { page, complaints } = profile;
    const invited = await invitePerson(world, 'Maria Lopez', {
      invitedBy: 'Grace',
      message: 'Welcome to the team!',
    });
    const task = await world.baton.tasks.create({ title: 'Order the desks' });
    const { id } = await world.baton.approvals.request({
      task: task.id,
      comment: 'May I order four desks?',
      assignedPrincipalId: invited.principalId,
    });
    const addresses: string[] = [];
    page.on('request', (sent) => addresses.push(sent.url(), sent.headers()['referer'] ?? ''));
    await page.goto(invited.link);
    await page.getByRole('heading', { name: 'Join Baton' }).waitFor();
    await page.getByText('Grace invites you as Maria Lopez, with the role member.').waitFor();
    await page.getByText('Welcome to the team!').waitFor();
    assert.equal(page.url(), `${url}/invite`);
    await assertAccessible(page, 'the invitation', 'usual');
    // Sent from the keyboard: the button has the focus.
    await page.keyboard.press('Enter');
    await isSignedInAs(page, 'Maria Lopez');
    assert.equal(await profile.authenticator.count(), 1);
    await page.goto(`${url}/inbox`);
    const question = page.getByRole('article').filter({ hasText: 'May I order four desks?' });
    await question.getByRole('button', { name: 'Approve' }).click();
    await untilTrue(
      async () => (await world.baton.approvals.get(id)).status === 'approved',
      'the question was not decided',
    );
    assert.equal((await world.baton.approvals.get(id)).decisionByPrincipalId, invited.principalId);

    const { secret } = invited;
    assert.deepEqual(
      addresses.filter((address) => address.includes(secret)),
      [],
    );
    const { entries } = await profile.authenticator.session.send('Page.getNavigationHistory');
    for (const entry of entries) assert.ok(!entry.url.includes(secret), 'the history has the secret');
    const kept = String(
      await page.evaluate('JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])'),
    );
    assert.doesNotMatch(kept, /iam_(ses|inv)_/);
    assert.doesNotMatch(world.output(), /iam_(ses|inv)_/);

    const other = await newProfile();
    await profile.authenticator.syncTo(other.authenticator);
    await signIn(other, '?next=%2Finbox');
    await other.page.getByRole('heading', { name: 'Inbox' }).waitFor();
    assert.equal((await sessionsOf(invited)).length, 2);
    await other.page.getByRole('button', { name: 'Sign out' }).click();
    await isSignedOut(other.page);
    assert.equal((await sessionsOf(invited)).length, 1, 'the sign-out ended its session at identity');
    assert.deepEqual([...complaints, ...other.complaints], []);
  });

  test('a lost passkey is replaced by a recovery link from the administration, which ends the other browsers', async () => {
    const { page, invited } = await member('Lost Passkey');
    const admin = await openPage(world.browser);
    await admin.page.goto(`${url}/sign-in?next=%2Fpeople#code=${await world.newCode()}`);
    await admin.page.getByRole('link', { name: /^Lost Passkey/ }).click();
    await admin.page.getByText('Manage passkeys, recovery and sign-in').click();
    await admin.page.getByText('Use the admin secret').click();
    await admin.page.getByLabel('Admin secret').fill(world.adminSecret);
    await admin.page.keyboard.press('Enter');
    const line = admin.page.getByRole('article');
    await line.getByText('Passkeys, browsers, recovery').click();
    await line.getByRole('heading', { name: 'Passkeys of Lost Passkey' }).waitFor();
    await line.getByText(/added/).nth(1).waitFor();
    await assertAccessible(admin.page, 'the sign-in of a person', 'usual');
    await line.getByRole('button', { name: 'Create a link that replaces all passkeys …' }).click();
    await line.getByRole('button', { name: 'Create a link that replaces all passkeys' }).click();
    const link = await line.getByText(/\/invite#iam_inv_/).innerText();
    await line.getByRole('button', { name: 'Done' }).click();
    await isGone(line.getByText(/iam_inv_/));

    const fresh = await newProfile();
    await fresh.page.goto(link);
    await fresh.page.getByRole('heading', { name: 'Welcome back, Lost Passkey' }).waitFor();
    await fresh.page.getByText('Your other passkeys are removed').waitFor();
    await fresh.page.getByRole('button', { name: 'Create a passkey' }).click();
    await isSignedInAs(fresh.page, 'Lost Passkey');
    await page.getByRole('alert').getByText('You are signed out.').waitFor();
    const passkeys = await identity.principals.listPasskeys(world.tenantId, invited.iamPrincipalId);
    assert.equal(passkeys.items.length, 1);
    await page.goto(`${url}/sign-in`);
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await refusedWith(page, 'invalid_passkey');
    await fresh.page.goto(link);
    await fresh.page.getByRole('heading', { name: 'This link is not valid' }).waitFor();
  });

  test('a disabled person is signed out within a second', async () => {
    const { page, invited } = await member('Soon Disabled');
    await page.getByText(/· live$/).waitFor();
    await identity.principals.disable(world.tenantId, invited.iamPrincipalId, {});
    const began = performance.now();
    await page.getByRole('alert').getByText('You are signed out.').waitFor();
    // Without the stream, the page polls every 30 s.
    assertTookLess(began, 15_000, 'the sign-out');
    await page.goto(url);
    await isSignedOut(page);
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await refusedWith(page, 'invalid_passkey');
    await identity.principals.enable(world.tenantId, invited.iamPrincipalId);
    await page.goto(url);
    await isSignedOut(page);
  });

  test('used, expired, revoked and unknown links are rejected in the same way', async () => {
    const { page } = await newProfile();
    const expired = await invitePerson(world, 'Too Late');
    const { token: replaced } = await identity.invitations.create(world.tenantId, {
      principalId: expired.iamPrincipalId,
    });
    const revoked = await invitePerson(world, 'Not Wanted');
    await identity.invitations.revoke(world.tenantId, revoked.invitationId);
    const used = await member('Already In');
    const unknown = `iam_inv_${'0'.repeat(12)}_${'x'.repeat(43)}`;
    const links = [used.invited.link, revoked.link, expired.link, `${url}/invite#${unknown}`];
    for (const link of links) {
      await page.goto('about:blank');
      await page.goto(link);
      await page.getByRole('heading', { name: 'This link is not valid' }).waitFor();
      await page.getByText('invalid_invitation', { exact: true }).waitFor();
    }
    assert.ok(replaced);
    await assertAccessible(page, 'a rejected link', 'usual');
    await page.goto('about:blank');
    await page.goto(`${url}/invite#not-a-secret`);
    await page.getByRole('heading', { name: 'Open your link again' }).waitFor();
    assert.equal(page.url(), `${url}/invite`);
    await assertAccessible(page, 'no link');
  });

  test('a person adds, renames and removes passkeys; the last one stays', async () => {
    const profile = await member('Key Holder');
    const { page, complaints, invited } = profile;
    await page.getByRole('link', { name: 'Key Holder' }).click();
    await page.getByRole('heading', { name: 'Your account' }).waitFor();
    const passkeys = page.getByRole('region', { name: 'Passkeys' });
    await passkeys.getByRole('listitem').first().waitFor();
    await passkeys.getByRole('button', { name: /^Remove / }).click();
    await passkeys.getByRole('button', { name: 'Remove', exact: true }).click();
    await refusedWith(page, 'last_passkey');
    await assertAccessible(page, 'the account', 'usual');
    await passkeys.getByRole('button', { name: 'Cancel' }).click();

    // The same device refuses a second passkey for the person.
    await passkeys.getByRole('button', { name: 'Add a passkey' }).click();
    await page.getByText('This device already has a passkey of yours.').waitFor();
    // Another device.
    const first = await profile.authenticator.session.send('WebAuthn.getCredentials', {
      authenticatorId: profile.authenticator.authenticatorId,
    });
    await profile.authenticator.clear();
    await passkeys.getByLabel('Name of the new passkey').fill('Phone');
    await passkeys.getByRole('button', { name: 'Add a passkey' }).click();
    const phone = passkeys.getByRole('listitem').filter({ hasText: 'Phone' });
    await phone.waitFor();
    await phone.getByRole('button', { name: 'Rename Phone' }).click();
    await page.keyboard.press('Control+a');
    await page.keyboard.type(mark);
    await page.keyboard.press('Enter');
    const renamed = passkeys.getByRole('listitem').filter({ hasText: mark });
    await renamed.waitFor();
    assert.equal(await page.evaluate('window.__xss'), undefined);
    await renamed.getByRole('button', { name: `Remove ${mark}` }).click();
    await page.keyboard.press('Enter');
    await isGone(renamed);
    const { items } = await identity.principals.listPasskeys(world.tenantId, invited.iamPrincipalId);
    assert.equal(items.length, 1);
    assert.equal(first.credentials.length, 1);
    assert.deepEqual(complaints, []);
  });

  test('adding a passkey after five minutes requires the passkey, and continues then', async () => {
    const old = await invitePerson(world, 'Long Signed In');
    const profile = await newProfile();
    await accept(profile, old.link, 'Long Signed In');
    const { page } = profile;
    await page.goto(`${url}/account`);
    let refused = 0;
    await page.route('**/console/passkeys', async (route) => {
      const isOptions = (route.request().postData() ?? '').includes('"options"');
      if (!isOptions || refused > 0) return route.continue();
      refused += 1;
      const error = { code: 'authentication_context_expired', message: 'The sign-in is too old.' };
      await route.fulfill({ status: 403, json: { error: { ...error, details: {}, requestId: 'req_test' } } });
    });
    const [before] = await sessionsOf(old);
    await page.getByRole('button', { name: 'Add a passkey' }).click();
    const dialog = page.getByRole('alertdialog', { name: "Confirm that it's you" });
    await dialog.waitFor();
    await assertAccessible(page, 'the confirmation', 'usual');
    await profile.authenticator.setVerified(false);
    await dialog.getByRole('button', { name: 'Use your passkey' }).click();
    await dialog.getByText('No passkey was used').waitFor();
    await profile.authenticator.setVerified(true);
    await dialog.getByRole('button', { name: 'Use your passkey' }).click();
    await isGone(dialog);
    // The action was repeated, and failed because this device already has a passkey of the person.
    await page.getByText('This device already has a passkey of yours.').waitFor();
    const [now, ...others] = await sessionsOf(old);
    assert.deepEqual(others, [], 'the new session replaces the earlier one');
    assert.notEqual(now?.id, before?.id);
    await page.reload();
    await page.getByText('This browser', { exact: true }).waitFor();
  });

  test("somebody else's passkey doesn't confirm, and leaves no session", async () => {
    const ada = await member('Ada Confirms');
    const other = await member('Another Person');
    await ada.authenticator.clear();
    await other.authenticator.syncTo(ada.authenticator);
    const { page } = ada;
    await page.goto(`${url}/account`);
    await page.route('**/console/passkeys', (route) =>
      route.fulfill({
        status: 403,
        json: {
          error: { code: 'authentication_context_expired', message: 'Too old.', requestId: 'req_test' },
        },
      }),
    );
    await page.getByRole('button', { name: 'Add a passkey' }).click();
    const dialog = page.getByRole('alertdialog', { name: "Confirm that it's you" });
    await dialog.getByRole('button', { name: 'Use your passkey' }).click();
    await dialog.getByText(/^signed_in_as_other/).waitFor();
    await page.keyboard.press('Escape');
    await isGone(dialog);
    assert.equal((await sessionsOf(other.invited)).length, 1);
    await page.reload();
    await isSignedInAs(page, 'Ada Confirms');
  });

  test('a person signs out another browser, or all others', async () => {
    const first = await member('Three Browsers');
    const others: Profile[] = [];
    for (let n = 0; n < 2; n += 1) {
      const profile = await newProfile();
      // Chromium's authenticator counts its uses, so copy the passkey with the newest counter.
      await (others.at(-1) ?? first).authenticator.syncTo(profile.authenticator);
      await signIn(profile);
      await isSignedInAs(profile.page, 'Three Browsers');
      others.push(profile);
    }
    const { page } = first;
    await page.goto(`${url}/account`);
    const sessions = page.getByRole('region', { name: 'Browsers' });
    await sessions.getByRole('listitem').nth(2).waitFor();
    await sessions.getByRole('button', { name: 'Sign out', exact: true }).first().click();
    await isGone(sessions.getByRole('listitem').nth(2));
    await others[1]?.page.getByRole('alert').getByText('You are signed out.').waitFor();
    await isSignedInAs(others[0]?.page as Page, 'Three Browsers');
    await sessions.getByRole('button', { name: 'Sign out all other browsers' }).click();
    await others[0]?.page.getByRole('alert').getByText('You are signed out.').waitFor();
    await isGone(sessions.getByRole('listitem').nth(1));
    await page.reload();
    await isSignedInAs(page, 'Three Browsers');
    assert.equal((await sessionsOf(first.invited)).length, 1);
  });

  test('names of people, tenants and inviters are shown verbatim on an invitation, and never run', async () => {
    const { page, complaints } = await newProfile();
    const invited = await invitePerson(world, hostile.slice(0, 200), {
      invitedBy: hostile.slice(0, 200),
      message: hostile.slice(0, 1000),
    });
    await page.goto(invited.link);
    await page.getByText(mark).first().waitFor();
    await page.setViewportSize({ width: 375, height: 800 });
    const isWide = await page.evaluate('document.documentElement.scrollWidth > innerWidth');
    assert.equal(isWide, false, 'it is not wider than a phone');
    await page.getByRole('button', { name: 'Create a passkey' }).click();
    await page.getByRole('heading', { name: 'Work' }).waitFor();
    assert.equal(await page.evaluate('window.__xss'), undefined);
    assert.deepEqual(complaints, []);
  });

  test('at an IP address the page explains passkeys, and the link to localhost keeps the invitation', async () => {
    const { page } = await newProfile();
    await page.goto(`${world.url}/sign-in?next=%2Finbox`);
    const link = page.getByRole('link', { name: 'Open this page at localhost' });
    assert.equal(await link.getAttribute('href'), `${url}/sign-in?next=%2Finbox`);
    assert.equal(await page.getByRole('button', { name: 'Sign in with a passkey' }).count(), 0);
    await assertAccessible(page, 'sign-in at an address', 'usual');
    const { link: at } = await invitePerson(world, 'By Address');
    await page.goto(at.replace(url, world.url));
    await link.click();
    await page.getByRole('button', { name: 'Create a passkey' }).click();
    await isSignedInAs(page, 'By Address');
  });

  test('pages of other origins and of frames can neither use a passkey nor end a session', async () => {
    const { page, authenticator, invited } = await member('Cross Origin');
    const tab = await page.context().newPage();
    const { port } = new URL(url);
    const near = `http://localhost:${Number(port) === 9 ? 10 : 9}`;
    await page
      .context()
      .route(`${near}/**`, (route) =>
        route.fulfill({ contentType: 'text/html', body: '<!doctype html><title>Other</title><p>Other</p>' }),
      );
    await tab.goto(near);
    const other = await addAuthenticator(tab);
    await authenticator.syncTo(other);
    for (const path of ['passkey-sign-in', 'invitation', 'account', 'passkeys', 'sessions']) {
      const seen = await tab.evaluate(
        `fetch(${JSON.stringify(`${url}/console/${path}`)}, { method: 'POST', credentials: 'include',
           headers: { 'content-type': 'application/json' }, body: '{"act":"end-others"}' })
         .then(async (answer) => answer.text(), () => 'nothing')`,
      );
      assert.equal(seen, 'nothing', path);
    }
    // Another port of localhost is within the relying party, so identity rejects its origin.
    const { publicKey, state } = await identity.passkeys.getSignInOptions();
    const credential = (await tab.evaluate(`(async () => {
      const options = PublicKeyCredential.parseRequestOptionsFromJSON(${JSON.stringify(publicKey)});
      return (await navigator.credentials.get({ publicKey: options })).toJSON();
    })()`)) as object;
    const answer = await page.context().request.post(`${url}/console/passkey-sign-in`, {
      headers: { 'baton-console-key': 'a'.repeat(43) },
      data: { state, credential: JSON.stringify(credential) },
    });
    assert.deepEqual([answer.status(), (await answer.json()).error.code], [401, 'invalid_passkey']);
    assert.equal((await sessionsOf(invited)).length, 1);
    await page.reload();
    await isSignedInAs(page, 'Cross Origin');
  });
});
