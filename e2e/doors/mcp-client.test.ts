import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { assertTookLess } from '@baton/testing/depth';
import type { RunningBaton } from '@baton/testing/running-baton';
import {
  assertAccessible,
  closePages,
  isGone,
  noBrowser,
  sharedBrowser,
  untilTrue,
} from '../testing/browser.ts';
import { Journey, openFrom, startNewBaton, type Visitor } from '../testing/door-journey.ts';
import {
  allowByPasskey,
  noOpenssl,
  type OAuthClientProgram,
  startOAuthClient,
} from '../testing/oauth-client.ts';
import { type Invited, invitePerson } from '../testing/passkeys.ts';

// Needs its own process: its Baton trusts the certificate of the client's vendor.

describe('an MCP client that knows only the address', { skip: noBrowser || noOpenssl }, () => {
  let baton: RunningBaton;
  let browser: Browser;
  let program: OAuthClientProgram;
  let person: Visitor;
  let invited: Invited;
  let origin: string;

  before(async () => {
    program = await startOAuthClient('Editor <b>');
    baton = await startNewBaton(program.settings);
    browser = await sharedBrowser.take();
    origin = `http://localhost:${new URL(baton.url).port}`;
    const { tenantId, issuer, iamBootstrapToken: adminSecret } = baton.connection;
    const world = { baton: baton.admin, tenantId, issuer, url: baton.url, adminSecret };
    invited = await invitePerson(world, 'Maria Lopez', { role: 'member' });
    person = await openFrom(browser, '198.51.100.10');
    await person.page.goto(invited.link);
    await person.page.getByRole('button', { name: 'Create a passkey' }).click();
    await person.page.getByRole('navigation', { name: 'Pages' }).getByText('Maria Lopez').waitFor();
  });
  after(async () => {
    if (browser) await closePages(browser);
    await sharedBrowser.giveBack();
    await program?.close();
    await baton?.stop();
  });
  afterEach(() => assert.deepEqual(person?.complaints ?? [], []));

  const leaseIn = (text: string) => /Lease: ([\da-f-]{36})/.exec(text)?.[1] ?? assert.fail(text);
  const claimOf = async (taskId: string) => (await baton.admin.claims.list({ taskId })).items[0];

  test('signs in by the browser of a person, lists the tools and takes a task to done', async () => {
    const task = await baton.admin.tasks.create({ title: 'by browser', assigneeId: invited.principalId });
    const journey = new Journey('sign-in of an MCP client');
    await journey.watch('person', person.page);
    const editor = await program.connect(`${baton.url}/mcp`, person.page, allowByPasskey);
    const { tools } = await editor.client.listTools();
    assert.ok(tools.some(({ name }) => name === 'work_next'));
    const lease = leaseIn(await editor.call('work_next', { assignedToMe: true }));
    assert.match(await editor.call('work_done', { lease, summary: 'done' }), new RegExp(task.publicId));
    const { clicks } = journey.finish();
    assert.equal(clicks, 2);
    assert.equal((await baton.admin.tasks.get(task.id)).systemStatusCategory, 'terminal_success');
    await editor.client.close();
  });

  test('loses its lease when the person disconnects it in the console, and its next call gets 401 with resource_metadata', async () => {
    const task = await baton.admin.tasks.create({ title: 'to be ended', assigneeId: invited.principalId });
    const editor = await program.connect(`${baton.url}/mcp`, person.page, allowByPasskey);
    await editor.call('work_next', { assignedToMe: true });
    assert.equal((await claimOf(task.id))?.status, 'active');
    const call = () =>
      fetch(`${baton.url}/mcp`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${editor.tokens().access_token}`,
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          'mcp-protocol-version': '2025-11-25',
        },
        body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
      });
    assert.equal((await call()).status, 200);

    const { page } = person;
    await page.goto(`${origin}/account`);
    const grants = page.getByRole('region', { name: 'Connected programs' });
    const line = grants.getByRole('listitem');
    await line.first().getByText('acts as you').waitFor();
    await assertAccessible(page, 'the connected programs', 'usual');
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.setViewportSize({ width: 375, height: 800 });
    await assertAccessible(page, 'the connected programs, dark and narrow', 'usual');
    assert.equal(await page.evaluate('document.documentElement.scrollWidth > innerWidth'), false);
    await page.emulateMedia({ colorScheme: 'light' });
    await page.setViewportSize({ width: 1280, height: 800 });
    const count = await line.count();
    await line.first().getByRole('button', { name: 'Disconnect Editor <b>' }).click();
    await line.first().getByText('Tasks that it has claimed in your name are released.').waitFor();
    await line.first().getByRole('button', { name: 'Disconnect', exact: true }).click();
    await isGone(line.nth(count - 1));
    const revokedAtMs = performance.now();
    let refused = await call();
    await untilTrue(async () => {
      if (refused.status === 200) refused = await call();
      return refused.status === 401;
    }, 'the token of a disconnected client is accepted');
    process.stdout.write(`# the client is out after ${Math.round(performance.now() - revokedAtMs)} ms\n`);
    assertTookLess(revokedAtMs, 1000, 'the end of the access');
    assert.match(refused.headers.get('www-authenticate') ?? '', /resource_metadata="[^"]+"/);
    const form = { grant_type: 'refresh_token', client_id: editor.clientId };
    const again = await fetch(`${baton.url}/iam/oauth2/token`, {
      method: 'POST',
      body: new URLSearchParams({ ...form, refresh_token: editor.tokens().refresh_token ?? '' }),
    });
    assert.deepEqual([again.status, await again.json()], [400, { error: 'invalid_grant' }]);
    await untilTrue(async () => (await claimOf(task.id))?.status !== 'active', 'its lease is live');
    process.stdout.write(`# its lease ended after ${Math.round(performance.now() - revokedAtMs)} ms\n`);
    const released = await claimOf(task.id);
    assert.deepEqual([released?.status, released?.releaseReason], ['released', 'session_closed']);
    const { id: sessionId } = await baton.admin.sessions.open({ clientName: 'another' });
    assert.equal((await baton.admin.tasks.claim(task.id, { sessionId })).status, 'active');
    await editor.client.close().catch(() => undefined);
  });
});
