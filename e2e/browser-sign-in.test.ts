// MCP clients and the command line sign in through a browser: with the official SDK's OAuth client, and a real browser.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import {
  Client,
  type OAuthClientProvider,
  type OAuthTokens,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import type { Page } from 'playwright-core';
import { baton as runBaton } from '@baton/testing/baton-process';
import { longTest } from '@baton/testing/depth';
import { agentPermissions, type RunningBaton, startRunningBaton } from '@baton/testing/running-baton';
import {
  assertAccessible,
  noBrowser,
  openPage,
  patienceMs,
  sharedBrowser,
  untilTrue,
} from './testing/browser.ts';
import { clientsFolder, withoutClients } from './testing/client-libraries.ts';
import { addAuthenticator, createPasskeyByLink, onLocalhost } from './testing/passkeys.ts';

let baton: RunningBaton;
let page: Page;
let complaints: string[];
let principalId: string;
let personId: string;
let receiver: Server;
let callback: string;
/** The response to the last authorization. */
let returned: URLSearchParams | undefined;
/** The body of the last decision that the page sent. */
let decided: { scopes?: string[]; endsSession?: boolean } = {};

before(async () => {
  if (noBrowser !== false) return console.warn(`SKIPPED: ${noBrowser}`);
  baton = await startRunningBaton();
  receiver = createServer((req, res) => {
    const { pathname, searchParams } = new URL(req.url ?? '/', 'http://client');
    if (pathname === '/callback') returned = searchParams;
    res.end('returned');
  });
  receiver.listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  callback = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/callback`;
  await makePersonWithPasskey();
});
after(async () => {
  await page?.context().close();
  if (page !== undefined) await sharedBrowser.giveBack();
  receiver?.closeAllConnections();
  receiver?.close();
  await baton?.stop();
});

async function admin(method: string, path: string, body?: object) {
  const { tenantId, iamBootstrapToken } = baton.connection;
  const answer = await fetch(`${baton.url}/iam/api/v1/tenants/${tenantId}${path}`, {
    method,
    headers: { 'content-type': 'application/json', 'x-iam-bootstrap-token': iamBootstrapToken ?? '' },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${text}`);
  return text === '' ? {} : JSON.parse(text);
}

/** A person in both services, whose passkey is in the browser. */
async function makePersonWithPasskey(): Promise<void> {
  const { tenantId, issuer } = baton.connection;
  const { identity, principals } = baton.admin;
  const person = await identity.principals.create(tenantId, { kind: 'human', displayName: 'Maria Lopez' });
  personId = person.id;
  ({ id: principalId } = await principals.create({ kind: 'human', displayName: 'Maria Lopez' }));
  await principals.createIamBinding(principalId, {
    issuer,
    iamTenantId: tenantId,
    iamPrincipalId: personId,
    permissions: [...agentPermissions, 'workspaces.read'],
  });
  await baton.admin.workspaces.create({ slug: 'payments', name: 'Payments <b>' });
  const { token } = await admin('POST', `/principals/${personId}/recovery-links`, {});
  ({ page, complaints } = await openPage(await sharedBrowser.take()));
  await addAuthenticator(page);
  await createPasskeyByLink(page, baton.url, token);
}

/** The person uses the passkey and decides. */
async function decideOnPage(button: 'Allow' | 'Refuse'): Promise<string> {
  await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
  await page.getByRole('button', { name: button }).waitFor();
  const shown = await page.locator('main').innerText();
  const sending = page.waitForRequest((request) => request.url().endsWith('/oauth-requests:decide'));
  await page.getByRole('button', { name: button }).click();
  decided = (await sending).postDataJSON();
  return shown;
}

/** The OAuth client of the protocol's SDK; the test plays its browser. */
function providerOf(clientId: string): OAuthClientProvider & { tokens(): OAuthTokens | undefined } {
  let tokens: OAuthTokens | undefined;
  let verifier = '';
  return {
    redirectUrl: callback,
    clientMetadata: { client_name: 'Editor', redirect_uris: [callback] },
    clientInformation: () => ({ client_id: clientId }),
    tokens: () => tokens,
    saveTokens: (made: OAuthTokens) => {
      tokens = made;
    },
    async redirectToAuthorization(address: URL) {
      returned = undefined;
      await page.goto(String(address));
    },
    saveCodeVerifier: (made: string) => {
      verifier = made;
    },
    codeVerifier: () => verifier,
  };
}

const newTransport = (authProvider: OAuthClientProvider) =>
  new StreamableHTTPClientTransport(new URL(`${baton.url}/mcp`), { authProvider });
const newClient = () =>
  new Client({ name: 'tests', version: '1' }, { versionNegotiation: { mode: 'legacy' } });

const textOf = ({ content }: { content: unknown }) =>
  (content as { text?: string }[]).map(({ text = '' }) => text).join('\n');
const leaseIn = (text: string) => /Lease: ([\da-f-]{36})/.exec(text)?.[1] ?? assert.fail(text);

/** A client that knows only the address of `/mcp` and its own id. */
async function signInClient() {
  const { clientId } = await admin('POST', '/oauth-clients', {
    name: 'Editor <b>',
    redirectUris: [callback],
  });
  const provider = providerOf(clientId);
  const first = newTransport(provider);
  await assert.rejects(newClient().connect(first));
  const shown = await decideOnPage('Allow');
  await untilTrue(() => returned !== undefined, 'the browser does not return to the client');
  assert.equal(returned?.get('iss'), baton.connection.issuer);
  await first.finishAuth(returned);
  const client = newClient();
  await client.connect(newTransport(provider));
  return { client, provider, shown };
}

describe('a client that signs in by browser', { skip: noBrowser }, () => {
  test('takes a task to done, and keeps its lease when its access token is replaced', async () => {
    const task = await baton.admin.tasks.create({ title: 'by browser', assigneeId: principalId });
    const { client, provider, shown } = await signInClient();
    const parts = ['Editor <b>', 'Maria Lopez', '127.0.0.1', 'Read tasks', 'Work on tasks', 'Payments <b>'];
    for (const part of parts) assert.ok(shown.includes(part), `${part} is not in: ${shown}`);
    assert.match(shown, /Service\s+Baton \(tasks and projects\)/);
    // Exactly the scopes that the page showed, so that the grant can't be wider.
    assert.deepEqual(decided.scopes, ['control-plane:read', 'control-plane:write']);
    assert.equal(decided.endsSession, true);
    const call = async (name: string, args: Record<string, unknown> = {}) =>
      textOf(await client.callTool({ name, arguments: args }));
    const lease = leaseIn(await call('work_next', { assignedToMe: true }));
    const tokens = provider.tokens() as OAuthTokens;
    const form = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token as string };
    const answer = await fetch(`${baton.url}/iam/oauth2/token`, {
      method: 'POST',
      body: new URLSearchParams({
        ...form,
        client_id: String((await provider.clientInformation())?.client_id),
      }),
    });
    const renewed = (await answer.json()) as OAuthTokens;
    assert.notEqual(renewed.access_token, tokens.access_token);
    await provider.saveTokens(renewed);
    assert.match(await call('work_done', { lease, summary: 'done' }), new RegExp(task.publicId));
    assert.equal((await baton.admin.tasks.get(task.id)).systemStatusCategory, 'terminal_success');
    await client.close();
    assert.deepEqual(complaints, []);
  });

  test('loses its lease when its grant is revoked', async () => {
    const task = await baton.admin.tasks.create({ title: 'revoked', assigneeId: principalId });
    const { client } = await signInClient();
    await client.callTool({ name: 'work_next', arguments: { assignedToMe: true } });
    const claimOf = async () => (await baton.admin.claims.list({ taskId: task.id })).items[0];
    assert.equal((await claimOf())?.status, 'active');
    const listed = await admin('GET', `/platform-access-tokens?principalId=${personId}`);
    for (const { id, kind } of listed as { id: string; kind: string }[])
      if (kind === 'oauth_grant') await admin('POST', `/platform-access-tokens/${id}:revoke`);
    const isRefused = await client.callTool({ name: 'task_search', arguments: {} }).then(
      ({ isError }) => isError === true,
      () => true,
    );
    assert.equal(isRefused, true);
    await untilTrue(
      async () => (await claimOf())?.status === 'released',
      "a revoked client's claim is not released",
    );
    await client.close().catch(() => undefined);
  });

  test('learns that the person refused', async () => {
    const { clientId } = await admin('POST', '/oauth-clients', { name: 'Editor', redirectUris: [callback] });
    await assert.rejects(newClient().connect(newTransport(providerOf(clientId))));
    await decideOnPage('Refuse');
    await untilTrue(() => returned !== undefined, 'the browser does not return to the client');
    assert.equal(returned?.get('error'), 'access_denied');
  });

  test('shows pages without accessibility problems', async () => {
    const { clientId } = await admin('POST', '/oauth-clients', { name: 'Editor', redirectUris: [callback] });
    await assert.rejects(newClient().connect(newTransport(providerOf(clientId))));
    await assertAccessible(page, 'sign-in', 'usual');
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await page.getByRole('button', { name: 'Allow' }).waitFor();
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      await assertAccessible(page, `decision, ${colorScheme}`, 'usual');
    }
    await page.goto(onLocalhost(`${baton.url}/iam/oauth2/device`));
    await assertAccessible(page, 'device', 'usual');
  });
});

describe('mcp-remote, the bridge of clients that speak only standard input and output', () => {
  const skip = noBrowser || withoutClients('mcp-remote');
  longTest('signs in by browser and lists the tools', { skip }, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'baton-mcp-remote-'));
    const registered = { name: 'mcp-remote', redirectUris: ['http://localhost/oauth/callback'] };
    const { clientId } = await admin('POST', '/oauth-clients', registered);
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [
        join(clientsFolder, 'node_modules/mcp-remote/dist/proxy.js'),
        `${baton.url}/mcp`,
        '--allow-http',
        '--static-oauth-client-info',
        JSON.stringify({ client_id: clientId }),
      ],
      env: { PATH: process.env['PATH'] ?? '', HOME: folder, MCP_REMOTE_CONFIG_DIR: folder },
      stderr: 'pipe',
    });
    let printed = '';
    transport.stderr?.on('data', (data) => {
      printed += String(data);
    });
    const client = newClient();
    try {
      const connected = client.connect(transport);
      await untilTrue(
        () => /http:\S+\/oauth2\/authorize\?\S+\s/.test(printed),
        `mcp-remote printed no address: ${printed}`,
      );
      await page.goto(String(/http:\S+\/oauth2\/authorize\?\S+/.exec(printed)));
      await decideOnPage('Allow');
      await connected;
      const { tools } = await client.listTools();
      assert.ok(tools.some(({ name }) => name === 'work_next'));
    } finally {
      await client.close();
      rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
    }
  });
});

describe('baton login', { skip: noBrowser }, () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'baton-login-'));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  const run = (args: readonly string[]) =>
    runBaton(args, { HOME: folder, XDG_CONFIG_HOME: folder, BATON_HOME: join(folder, 'none') });

  async function finish(args: readonly string[]) {
    const finished = run(args);
    await finished.ended;
    return finished.output();
  }

  const profiles = () => JSON.parse(readFileSync(join(folder, 'baton', 'profiles.json'), 'utf8')).profiles;

  test('with a code for another machine signs in, renews itself and signs out', async () => {
    const login = run(['login', '--device', '--url', baton.url, '--name', 'device']);
    const [, code = ''] = await login.prints(/enter the code ([A-Z]{4}-[A-Z]{4})/);
    await page.goto(onLocalhost(`${baton.url}/iam/oauth2/device`));
    await page.getByLabel('Code that the device shows').fill(code.toLowerCase());
    const shown = await decideOnPage('Allow');
    assert.match(shown, /Baton command line/);
    assert.match(shown, /127\.0\.0\.1/);
    assert.match(shown, /only if you started it yourself/i);
    await page.getByRole('heading', { name: 'Connected' }).waitFor();
    await login.prints(/Signed in at .* as Maria Lopez/);
    await login.ended;
    assert.match(await finish(['whoami', '--profile', 'device']), /Maria Lopez/);
    const { grant, token } = profiles().device;
    assert.equal(token, undefined);

    // Two commands at the same time, after the access token has expired: one of them refreshes it.
    const expired = { ...profiles(), device: { url: baton.url, grant: { ...grant, expiresAtMs: 0 } } };
    writeFileSync(
      join(folder, 'baton', 'profiles.json'),
      JSON.stringify({ current: 'device', profiles: expired }),
    );
    const both = await Promise.all([finish(['whoami']), finish(['whoami'])]);
    for (const output of both) assert.match(output, /Maria Lopez/);
    assert.notEqual(profiles().device.grant.refreshToken, grant.refreshToken);

    const last = profiles().device.grant;
    assert.match(await finish(['logout']), /ended its sign-in/);
    const answer = await fetch(`${baton.url}/iam/oauth2/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'refresh_token',
        refresh_token: last.refreshToken,
        client_id: 'baton-cli',
      }),
    });
    assert.equal(answer.status, 400);
  });

  test('by the browser of this machine signs in', async () => {
    const login = run(['login', '--no-browser', '--url', baton.url, '--name', 'browser']);
    const [, address = ''] = await login.prints(/(http:\S+\/oauth2\/authorize\?\S+)/);
    const other = await fetch(`${new URL(address).searchParams.get('redirect_uri')}?code=x&state=y&iss=z`);
    assert.equal(other.status, 400);
    await page.goto(address);
    await decideOnPage('Allow');
    await page.getByText('You are signed in').waitFor({ timeout: patienceMs });
    await login.prints(/Signed in at .* as Maria Lopez/);
    await login.ended;
    assert.match(await finish(['whoami', '--profile', 'browser']), /Maria Lopez/);
  });
});
