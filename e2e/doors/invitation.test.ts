import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { type BatonProcess, program } from '@baton/testing/baton-process';
import { isLongProof } from '@baton/testing/depth';
import { type Participant, type RunningBaton } from '@baton/testing/running-baton';
import { closePages, noBrowser, sharedBrowser, untilTrue } from '../testing/browser.ts';
import { Journey, openFrom, startNewBaton, type Visitor } from '../testing/door-journey.ts';

// Needs its own process: it starts a Baton with its own PostgreSQL in a new folder, as a reader of the README does.
// The administrator and the colleague have browser profiles and addresses of their own.

const office = '198.51.100.10';
const train = '203.0.113.20';

describe('a colleague gets in', { skip: noBrowser }, () => {
  let baton: RunningBaton;
  let browser: Browser;
  let agent: Participant;
  let origin: string;
  let provider: BatonProcess | undefined;

  before(async () => {
    baton = await startNewBaton({ IAM_OUTBOUND_ALLOWED_HOSTS: '["127.0.0.1"]' });
    origin = `http://localhost:${new URL(baton.url).port}`;
    browser = await sharedBrowser.take();
    agent = await baton.participant();
  });
  afterEach(() => browser && closePages(browser));
  after(async () => {
    await sharedBrowser.giveBack();
    provider?.child.kill('SIGTERM');
    await provider?.ended;
    await baton?.stop();
  });

  const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name, exact: true });
  const navigation = (page: Page) => page.getByRole('navigation', { name: 'Pages' });
  const isSignedInAs = (page: Page, name: string) =>
    navigation(page).getByText(name, { exact: true }).waitFor();

  /** The administrator's console, by the address that `baton console` prints. */
  async function openConsole(journey?: Journey): Promise<Visitor> {
    const answer = await fetch(`${baton.url}/console/codes`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ token: baton.connection.adminToken }),
    });
    const { code } = (await answer.json()) as { code: string };
    // The administrator works on the machine where Baton runs, because administrator secrets are accepted only from
    // there.
    const visitor = await openFrom(browser, '127.0.0.1');
    await journey?.watch('administrator', visitor.page);
    await visitor.page.goto(`${origin}/sign-in#code=${code}`);
    await navigation(visitor.page).waitFor();
    return visitor;
  }

  async function enterSecret(page: Page) {
    // If a dialog is open, its button is the last one.
    await page.getByText('Use the admin secret').last().click();
    await page
      .getByLabel('Admin secret')
      .last()
      .fill(baton.connection.iamBootstrapToken ?? '');
    await page.keyboard.press('Enter');
  }

  /** @returns the link that the administrator copies */
  async function invite({ page }: Visitor, name: string): Promise<string> {
    await page.getByRole('link', { name: 'People and agents' }).click();
    await button(page, 'Invite a person').click();
    await enterSecret(page);
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name', { exact: true }).fill(name);
    await button(page, 'Create link').click();
    const link = await dialog.getByText(/\/invite#iam_inv_/).innerText();
    await button(page, 'Copy').click();
    return link;
  }

  /** An agent's question to the person, who needn't have accepted the invitation yet. */
  async function askPerson(name: string) {
    const { items } = await baton.admin.people.list({ q: name });
    const [{ id: assignedPrincipalId } = { id: '' }] = items;
    const task = await agent.baton.tasks.create({ title: `Order desks for ${name}` });
    const comment = `May I order four desks, ${name}?`;
    const { id } = await agent.baton.approvals.request({ task: task.id, comment, assignedPrincipalId });
    return { id, comment, principalId: assignedPrincipalId };
  }

  async function decide(
    { page }: Visitor,
    { id, comment, principalId }: Awaited<ReturnType<typeof askPerson>>,
  ) {
    await page.getByRole('heading', { name: 'Inbox' }).waitFor();
    const question = page.getByRole('article').filter({ hasText: comment });
    await question.getByRole('button', { name: 'Approve' }).click();
    await untilTrue(
      async () => (await baton.admin.approvals.get(id)).status === 'approved',
      'the question was not decided',
    );
    assert.equal((await baton.admin.approvals.get(id)).decisionByPrincipalId, principalId);
  }

  /** The promise is 90 s; a machine that runs other tests gets more time. */
  function assertShort(journey: Journey) {
    const { clicks, seconds, acts } = journey.finish();
    assert.ok(clicks <= 8, `${clicks} clicks: ${acts}`);
    assert.ok(seconds < 90 || !isLongProof, `${seconds} s`);
  }

  test('from nothing, an invited colleague on another machine makes a passkey and decides within eight clicks', async () => {
    const journey = new Journey('invitation, passkey, decision');
    const administrator = await openConsole(journey);
    const link = await invite(administrator, 'Maria Lopez');
    const question = await askPerson('Maria Lopez');
    const colleague = await openFrom(browser, office);
    await journey.watch('colleague', colleague.page);
    await colleague.page.goto(link);
    await button(colleague.page, 'Create a passkey').click();
    await isSignedInAs(colleague.page, 'Maria Lopez');
    await decide(colleague, question);
    assertShort(journey);
    assert.equal(await colleague.authenticator.count(), 1);
    // To Baton, the colleague is on another machine: only the administrator's machine may read Baton's metrics.
    const metricsAt = async ({ page }: Visitor) => (await page.request.get(`${origin}/metrics`)).status();
    assert.deepEqual([await metricsAt(administrator), await metricsAt(colleague)], [200, 403]);
    assert.deepEqual([...administrator.complaints, ...colleague.complaints], []);
  });

  test('from nothing, an invited colleague signs in through a provider and decides within eight clicks', async () => {
    provider = program('packages/identity/src/testing/oidc-people.main.ts', [], {
      REDIRECT_URI: `${origin}/console/callback`,
      CLIENT_SECRET: 'a-secret-that-the-public-client-does-not-use',
    });
    const [, issuer = ''] = await provider.prints(/issuer (\S+)/);
    const { identity } = baton.admin;
    const { tenantId } = baton.connection;
    const registered = { key: 'corp', issuer, audience: 'console-public', offered: true };
    await identity.identityProviders.create(tenantId, registered);

    const journey = new Journey('invitation, provider, decision');
    const administrator = await openConsole(journey);
    const link = await invite(administrator, 'Ada Byron');
    const question = await askPerson('Ada Byron');
    const colleague = await openFrom(browser, train);
    await journey.watch('colleague', colleague.page);
    await colleague.page.goto(link);
    await button(colleague.page, 'Sign in with corp').click();
    await colleague.page.getByRole('link', { name: 'ada' }).click();
    await isSignedInAs(colleague.page, 'Ada Byron');
    await decide(colleague, question);
    assertShort(journey);
    assert.equal(await colleague.authenticator.count(), 0);
    assert.deepEqual([...administrator.complaints, ...colleague.complaints], []);
  });

  test('a lost passkey is replaced by a recovery link; the old one and its browsers no longer work', async () => {
    const { identity } = baton.admin;
    const { tenantId } = baton.connection;
    const first = await openConsole();
    const old = await openFrom(browser, office);
    await old.page.goto(await invite(first, 'Lost Passkey'));
    await button(old.page, 'Create a passkey').click();
    await isSignedInAs(old.page, 'Lost Passkey');
    await first.page.context().close();

    const journey = new Journey('recovery');
    const { page } = await openConsole(journey);
    await page.getByRole('link', { name: 'People and agents' }).click();
    await page.getByRole('link', { name: /^Lost Passkey/ }).click();
    await page.getByText('Manage passkeys, recovery and sign-in').click();
    await enterSecret(page);
    await page.getByText('Passkeys, browsers, recovery').click();
    await button(page, 'Create a link that replaces all passkeys …').click();
    await button(page, 'Create a link that replaces all passkeys').click();
    const link = await page.getByText(/\/invite#iam_inv_/).innerText();

    const fresh = await openFrom(browser, train);
    await journey.watch('colleague', fresh.page);
    await fresh.page.goto(link);
    await fresh.page.getByText('Your other passkeys are removed').waitFor();
    await button(fresh.page, 'Create a passkey').click();
    await isSignedInAs(fresh.page, 'Lost Passkey');
    journey.finish();

    await old.page.getByRole('alert').getByText('You are signed out.').waitFor();
    await old.page.goto(`${origin}/sign-in`);
    await button(old.page, 'Sign in with a passkey').click();
    await old.page
      .getByRole('alert')
      .getByText(/^invalid_passkey/)
      .waitFor();
    const [person] = (await baton.admin.people.list({ q: 'Lost Passkey' })).items;
    const { items: bindings } = await baton.admin.principals.listIamBindings(person?.id ?? '');
    const iamId = bindings[0]?.iamPrincipalId ?? '';
    assert.equal((await identity.principals.listPasskeys(tenantId, iamId)).items.length, 1);
    assert.equal((await identity.principals.listBrowserSessions(tenantId, iamId)).items.length, 1);
    await fresh.page.reload();
    await isSignedInAs(fresh.page, 'Lost Passkey');
    await old.page.goto(link);
    await old.page.getByRole('heading', { name: 'This link is not valid' }).waitFor();
  });
});
