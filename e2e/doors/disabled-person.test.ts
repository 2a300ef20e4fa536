import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Browser, Page } from 'playwright-core';
import { type BatonClient, createClient, type Harness } from '@baton/sdk';
import { assertTookLess } from '@baton/testing/depth';
import type { RunningBaton } from '@baton/testing/running-baton';
import { closePages, noBrowser, patienceMs, sharedBrowser, untilTrue } from '../testing/browser.ts';
import { openFrom, startNewBaton, type Visitor } from '../testing/door-journey.ts';
import {
  allowByPasskey,
  noOpenssl,
  type OAuthClientProgram,
  type SignedInClient,
  startOAuthClient,
} from '../testing/oauth-client.ts';
import { type Invited, invitePerson } from '../testing/passkeys.ts';

// Needs its own process: its Baton trusts the certificate of the client's vendor.

/** A way in, with the request or stream that shows whether it is still open. */
interface Door {
  readonly name: string;
  /** Resolves once the door is closed. */
  closed(): Promise<void>;
}

describe('a disabled person', { skip: noBrowser || noOpenssl }, () => {
  let baton: RunningBaton;
  let browser: Browser;
  let program: OAuthClientProgram;
  let person: Visitor;
  let invited: Invited;
  let origin: string;
  let token: string;
  let hers: BatonClient;
  let accessToken: string;
  let editor: SignedInClient;
  let harness: Harness | undefined;

  before(async () => {
    program = await startOAuthClient('Editor');
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
    const made = await baton.admin.identity.principals.createToken(tenantId, invited.iamPrincipalId, {
      name: 'scripts',
      audiences: ['control-plane'],
      scopeCeiling: ['control-plane:read', 'control-plane:write'],
    });
    token = made.token ?? assert.fail('there is no token');
    hers = createClient({ url: baton.url, credential: { token } });
    accessToken = (await hers.accessToken?.get()) ?? assert.fail('there is no access token');
    editor = await program.connect(`${baton.url}/mcp`, person.page, allowByPasskey);
    await person.page.goto(`${origin}/`);
    await person.page.getByText(/· live$/).waitFor();
  });
  after(async () => {
    await harness?.close().catch(() => undefined);
    await editor?.client.close().catch(() => undefined);
    if (browser) await closePages(browser);
    await sharedBrowser.giveBack();
    await program?.close();
    await baton?.stop();
  });

  /** Polls: a door is closed by the first response with one of these statuses. */
  const refuses = (name: string, statuses: readonly number[], request: () => Promise<Response>): Door => ({
    name,
    async closed() {
      for (const began = performance.now(); performance.now() - began < patienceMs; await sleep(20)) {
        const answer = await request();
        await answer.arrayBuffer();
        if (statuses.includes(answer.status)) return;
      }
      assert.fail(`${name} is still open`);
    },
  });
  const statusOf = async (request: () => Promise<Response>) => {
    const answer = await request();
    await answer.arrayBuffer();
    return answer.status;
  };

  const read = (bearer: string) => () =>
    fetch(`${baton.url}/api/v1/tasks?limit=1`, { headers: { authorization: `Bearer ${bearer}` } });
  const postJson = (path: string, body: object) =>
    fetch(`${baton.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  const exchange = () =>
    postJson('/iam/api/v1/platform-access-tokens:exchange', { token, audience: 'control-plane' });
  const refresh = () =>
    fetch(`${baton.url}/iam/oauth2/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'refresh_token',
        client_id: editor.clientId,
        refresh_token: editor.tokens().refresh_token ?? '',
      }),
    });
  /** A request of the 2026 protocol version, whose response to a subscription is a stream. */
  const sendMcp = (bearer: string, method: string, params: object = {}) =>
    fetch(`${baton.url}/mcp`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${bearer}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': method,
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method,
        params: {
          ...params,
          _meta: {
            'io.modelcontextprotocol/protocolVersion': '2026-07-28',
            'io.modelcontextprotocol/clientInfo': { name: 'tests', version: '1' },
            'io.modelcontextprotocol/clientCapabilities': {},
          },
        },
      }),
    });
  /** A request of the console's page for an access token, with the cookie and the key of the person's page. */
  const consoleToken = (page: Page) => async () => {
    const status = await page.evaluate(`fetch('/console/token', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'baton-console-key': localStorage.getItem('baton.console-key') },
      body: '{}',
    }).then(({ status }) => status)`);
    return new Response(null, { status: Number(status) });
  };

  async function openSocket(bearer: string): Promise<Door> {
    const url = `${baton.url.replace(/^http/, 'ws')}/api/v1/events/ws`;
    const socket = new WebSocket(url, ['baton', `bearer.${bearer}`]);
    const closed = new Promise<void>((done) => socket.addEventListener('close', () => done()));
    await new Promise((done) => socket.addEventListener('open', done));
    return { name: 'WebSocket of events', closed: () => closed };
  }
  async function openStream(name: string, bearer: string): Promise<Door> {
    const answer = await sendMcp(bearer, 'subscriptions/listen', {
      notifications: { resourceSubscriptions: ['baton://journal'] },
    });
    assert.equal(answer.status, 200);
    assert.match(answer.headers.get('content-type') ?? '', /text\/event-stream/);
    const ended = answer.text().then(
      () => undefined,
      () => undefined,
    );
    return { name, closed: () => ended };
  }
  async function takeTask(): Promise<{ claims: string[] }> {
    const { principalId: assigneeId } = invited;
    await baton.admin.tasks.create({ title: 'by a script', assigneeId });
    harness = await hers.harness.open({ name: 'tests' });
    const work = harness.work({ filter: { assignedToMe: true } });
    assert.equal((await work.next()).done, false);
    await baton.admin.tasks.create({ title: 'by an editor', assigneeId });
    await editor.call('work_next', { assignedToMe: true });
    const { items } = await baton.admin.claims.list({ status: 'active' });
    const claims = items.filter(({ holderId }) => holderId === assigneeId).map(({ id }) => id);
    assert.equal(claims.length, 2);
    return { claims };
  }
  const claimEnds = (id: string, name: string): Door => ({
    name,
    closed: () =>
      untilTrue(
        async () => (await baton.admin.claims.get(id)).status !== 'active',
        `${name} is still active`,
      ),
  });

  test('is out everywhere within a second', async () => {
    const { claims } = await takeTask();
    const oauthToken = editor.tokens().access_token;
    const polled = [
      refuses('session of the console', [401], consoleToken(person.page)),
      refuses('platform access token', [401], exchange),
      refuses('access token of a platform access token', [401], read(accessToken)),
      refuses('access token of an OAuth client', [401], read(oauthToken)),
      refuses('session of an MCP client', [401], () => sendMcp(oauthToken, 'tools/list')),
    ];
    for (const [name, request] of [
      ['console', consoleToken(person.page)],
      ['exchange', exchange],
      ['read', read(accessToken)],
      ['OAuth', read(oauthToken)],
      ['MCP', () => sendMcp(oauthToken, 'tools/list')],
    ] as const)
      assert.equal(await statusOf(request), 200, name);
    const doors: Door[] = [
      ...polled,
      // Called only once, because each use of a refresh token consumes it.
      refuses('refresh token of an OAuth client', [400], async () => {
        await untilTrue(async () => (await statusOf(read(oauthToken))) === 401, 'the grant is live');
        return refresh();
      }),
      await openSocket(accessToken),
      await openStream('stream of MCP by a platform access token', token),
      await openStream('stream of MCP by an OAuth client', oauthToken),
      ...claims.map((id, n) => claimEnds(id, `claim ${n + 1}`)),
      {
        name: 'open page of the console',
        closed: () => person.page.getByRole('alert').getByText('You are signed out.').waitFor(),
      },
    ];
    const { page } = await openAdministration();
    await page.getByRole('button', { name: 'Disable …' }).click();
    const beganMs = performance.now();
    await page.keyboard.press('Enter');
    await Promise.all(
      doors.map(async ({ name, closed }) => {
        await closed();
        process.stdout.write(`# ${name}: out after ${Math.round(performance.now() - beganMs)} ms\n`);
        assertTookLess(beganMs, 1000, name);
      }),
    );
    const refused = await refresh();
    assert.deepEqual([refused.status, await refused.json()], [400, { error: 'invalid_grant' }]);
    await person.page.goto(`${origin}/sign-in`);
    await person.page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await person.page
      .getByRole('alert')
      .getByText(/^invalid_passkey/)
      .waitFor();
  });

  /** The administrator's page about the person, with identity's administration unlocked. */
  async function openAdministration(): Promise<Visitor> {
    const { code } = (await (
      await postJson('/console/codes', { token: baton.connection.adminToken })
    ).json()) as { code: string };
    const visitor = await openFrom(browser, '127.0.0.1');
    const { page } = visitor;
    await page.goto(`${origin}/sign-in?next=%2Fpeople%2F${invited.principalId}#code=${code}`);
    await page.getByText('Manage passkeys, recovery and sign-in').click();
    await page.getByText('Use the admin secret').click();
    await page.getByLabel('Admin secret').fill(baton.connection.iamBootstrapToken ?? '');
    await page.keyboard.press('Enter');
    await page.getByText('In identity, all tokens and browser sessions end.').waitFor();
    return visitor;
  }
});
