import assert from 'node:assert/strict';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type OAuthClientProvider,
  StreamableHTTPClientTransport,
  type StreamableHTTPClientTransportOptions,
} from '@modelcontextprotocol/client';
import { fetchTransport, type WireRequest } from '@baton/sdk';
import {
  clientOfEra,
  connectionOf,
  type Era,
  leaseIn,
  type Participant,
  type RunningBaton,
  shareRunningBaton,
  startRunningBaton,
} from '../testing/running-baton.ts';
import { createMcpEndpoint, type McpEndpointOptions } from './endpoint.ts';

let baton: RunningBaton;
let agent: Participant;
const closers: (() => Promise<unknown>)[] = [];

before(async () => {
  baton = await shareRunningBaton();
  agent = await baton.participant();
});
after(async () => {
  for (const close of closers.reverse()) await close();
  await baton.stop();
});

/** Connects a client to the `/mcp` endpoint at this URL; by default, that of the running Baton. */
async function connect(token: string, era: Era = '2025', at = `${baton.url}/mcp`) {
  const client = clientOfEra(era);
  const headers = { authorization: `Bearer ${token}` };
  await client.connect(new StreamableHTTPClientTransport(new URL(at), { requestInit: { headers } }));
  closers.push(() => client.close());
  return connectionOf(client);
}

/** A separate endpoint for the running Baton, with other limits. */
async function endpointWith(
  bounds: McpEndpointOptions['bounds'] = {},
  more: Partial<McpEndpointOptions> = {},
) {
  const endpoint = createMcpEndpoint({
    localUrl: baton.url,
    publicUrl: undefined,
    issuer: baton.connection.issuer,
    countedAs: ({ socket }) => socket.remoteAddress ?? '',
    ...more,
    bounds,
  });
  const server = createServer((req, res) => endpoint.handler(req, res));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(async () => {
    await endpoint.close();
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`, close: endpoint.close };
}

const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };

/** Sends a raw request, without an MCP client. */
const send = (
  url: string,
  token: string | undefined,
  body: unknown = list,
  more: Record<string, string> = {},
) =>
  fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...more,
    },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });

/** Sends a request like a browser, with this Host and Origin. */
const statusWith = (headers: Record<string, string>, path = '/mcp') =>
  new Promise<number>((resolve, reject) => {
    const all = { authorization: `Bearer ${agent.token}`, 'content-type': 'application/json', ...headers };
    const sent = request(`${baton.url}${path}`, { method: 'POST', headers: all }, (response) => {
      response.resume();
      resolve(Number(response.statusCode));
    });
    sent.on('error', reject);
    sent.end(JSON.stringify(list));
  });

const taskFor = ({ principalId }: Participant) =>
  baton.admin.tasks.create({ title: 'over HTTP', assigneeId: principalId });

const claimOf = async (taskId: string) => (await baton.admin.claims.list({ taskId })).items[0];

async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 60_000;
  while (!(await isSo())) {
    if (performance.now() > deadline) throw new Error(`never: ${what}`);
    await sleep(100);
  }
}

// Each test has its own agent and tasks. They run in parallel, because most of the time they wait.
describe('the endpoint', { concurrency: 4 }, () => {
  for (const era of ['2025', '2026'] as const)
    test(`a client of ${era} takes a task and finishes it, over several requests`, async () => {
      const one = await baton.participant();
      const task = await taskFor(one);
      const mcp = await connect(one.token, era);
      const lease = leaseIn(await mcp.call('work_next', { assignedToMe: true }));
      assert.match(await mcp.call('work_checkpoint', { lease, note: 'half' }), /Checkpoint 1/);
      assert.match(await mcp.call('work_done', { lease, summary: 'done' }), new RegExp(task.publicId));
      assert.equal((await baton.admin.tasks.get(task.id)).systemStatusCategory, 'terminal_success');
    });

  test('without a token, or with a wrong one, the response explains where to get a token', async () => {
    const without = await send(`${baton.url}/mcp`, undefined);
    assert.equal(without.status, 401);
    const challenge = without.headers.get('www-authenticate') ?? '';
    const [, address = ''] =
      /^Bearer resource_metadata="([^"]+)", scope="control-plane:read control-plane:write"$/.exec(
        challenge,
      ) ?? [];
    const metadata = (await (await fetch(address)).json()) as Record<string, unknown>;
    assert.equal(metadata.resource, `${baton.url}/mcp`);
    assert.deepEqual(metadata.authorization_servers, [baton.connection.issuer]);
    assert.match(await without.text(), /"error":"token_required","error_description":"Sign in by browser /);
    const page = await fetch(String(metadata.resource_documentation), {
      headers: { accept: 'text/html,*/*' },
    });
    assert.deepEqual([page.status, page.headers.get('content-type')], [401, 'text/html; charset=utf-8']);
    assert.match(await page.text(), /<p>Sign in by browser if/);
    assert.equal((await fetch(`${baton.url}/.well-known/oauth-protected-resource`)).status, 200);
    for (const wrong of ['none', `${agent.token}x`, 'a.b.c', 'x'.repeat(9000)]) {
      const refused = await send(`${baton.url}/mcp`, wrong);
      assert.equal(refused.status, 401);
      assert.match(refused.headers.get('www-authenticate') ?? '', /error="invalid_token"/);
      const text = await refused.text();
      assert.match(text, /"error":"invalid_token","error_description":"Sign in by browser /);
      assert.doesNotMatch(text, /xxx/);
    }
    assert.equal(
      (await fetch(`${baton.url}/mcp?access_token=${agent.token}`, { method: 'POST' })).status,
      401,
    );
  });

  test('a client without a token or an id of its own learns that it needs one; nothing is registered', async () => {
    const connecting = (options: StreamableHTTPClientTransportOptions) =>
      clientOfEra('2025').connect(new StreamableHTTPClientTransport(new URL(`${baton.url}/mcp`), options));
    await assert.rejects(connecting({}), /Sign in by browser/);
    const authProvider: OAuthClientProvider = {
      redirectUrl: 'http://localhost:1/callback',
      clientMetadata: { client_name: 'tests', redirect_uris: ['http://localhost:1/callback'] },
      clientInformation: () => undefined,
      saveClientInformation: () => assert.fail('nothing is registered'),
      tokens: () => undefined,
      saveTokens: () => assert.fail('no token is issued'),
      redirectToAuthorization: () => assert.fail('no browser is opened'),
      saveCodeVerifier: () => undefined,
      codeVerifier: () => '',
    };
    await assert.rejects(connecting({ authProvider }), /does not support dynamic client registration/);
  });

  test('an access token of coordination is taken, too', async () => {
    const { accessToken } = await baton.admin.identity.platformAccessTokens.exchange({
      token: agent.token,
      audience: 'control-plane',
    });
    assert.equal((await (await connect(accessToken)).tools()).includes('work_next'), true);
  });

  test('pages of others can not call: by Host, or by Origin', async () => {
    const own = new URL(baton.url).host;
    const accept = 'application/json, text/event-stream';
    assert.equal(await statusWith({ host: own, accept }), 200);
    assert.equal(await statusWith({ host: 'evil.example', accept }), 421);
    assert.equal(await statusWith({ host: own, accept, origin: 'https://evil.example' }), 403);
    assert.equal(await statusWith({ host: own, accept, origin: 'null' }), 403);
    // An attacker's host name that resolves to this machine (DNS rebinding), with the port, also for the metadata.
    assert.equal(await statusWith({ host: `evil.example:${new URL(baton.url).port}`, accept }), 421);
    const metadata = '/.well-known/oauth-protected-resource/mcp';
    assert.equal(await statusWith({ host: 'evil.example' }, metadata), 421);
  });

  test('the address chooses toolsets and read-only', async () => {
    const reading = await connect(agent.token, '2025', `${baton.url}/mcp?toolsets=tasks&read-only=true`);
    assert.deepEqual(await reading.tools(), ['artifact_get', 'task_get', 'task_search']);
    const wrong = await send(`${baton.url}/mcp?toolsets=every`, agent.token);
    assert.equal(wrong.status, 400);
    assert.match(await wrong.text(), /There is no toolset \\"every\\"/);
    const more = await connect(agent.token, '2026', `${baton.url}/mcp?toolsets=work,admin`);
    assert.equal(
      (await more.tools()).some((name) => name.startsWith('admin_')),
      false,
    );
  });

  test('a lease is bound to the token under which it was taken', async () => {
    const [one, another] = [await baton.participant(), await baton.participant()];
    await Promise.all([taskFor(one), taskFor(another)]);
    const [first, second] = [await connect(one.token), await connect(another.token, '2026')];
    const leases = await Promise.all(
      [first, second].map(async (mcp) => leaseIn(await mcp.call('work_next', { assignedToMe: true }))),
    );
    assert.notEqual(leases[0], leases[1]);
    const stolen = await second.refused('work_done', { lease: leases[0], summary: 'not mine' });
    assert.match(stolen, /You don't hold the lease/);
    assert.match(await first.call('work_done', { lease: leases[0], summary: 'mine' }), /is done/);
  });

  test('two access tokens of one credential with different scopes share no lease', async () => {
    const fewer = ['control-plane:read', 'control-plane:write'];
    const all = ['control-plane:admin', ...fewer];
    const one = await baton.participant(undefined, 'agent', all);
    await taskFor(one);
    const tokenWith = async (scopes: string[]) => {
      const order = { token: one.token, audience: 'control-plane', scopes };
      return (await baton.admin.identity.platformAccessTokens.exchange(order)).accessToken;
    };
    const wide = await connect(await tokenWith(all));
    const lease = leaseIn(await wide.call('work_next', { assignedToMe: true }));
    const narrow = await connect(await tokenWith(fewer));
    const stolen = await narrow.refused('work_done', { lease, summary: 'not mine' });
    assert.match(stolen, /You don't hold the lease/);
    const next = await connect(await tokenWith(all.toReversed()));
    assert.match(await next.call('work_done', { lease, summary: 'mine' }), /is done/);
  });

  test('the size of a body is limited, and anything that is not a protocol message is refused', async () => {
    const long = JSON.stringify({ ...list, params: { x: 'x'.repeat(2_200_000) } });
    const refused = await send(`${baton.url}/mcp`, agent.token, long).catch(() => ({ status: 413 }));
    assert.equal(refused.status, 413);
    assert.equal((await send(`${baton.url}/mcp`, agent.token, '{')).status, 400);
    assert.equal(
      (await send(`${baton.url}/mcp`, agent.token, list, { 'content-type': 'text/plain' })).status,
      415,
    );
    const get = await fetch(`${baton.url}/mcp`, { headers: { authorization: `Bearer ${agent.token}` } });
    assert.equal(get.status, 405);
  });

  test('a lease that no call names is released, and all are when the endpoint closes', async () => {
    const one = await baton.participant();
    const task = await taskFor(one);
    const { url } = await endpointWith({ idleMs: 500, sweepEveryMs: 100 });
    const mcp = await connect(one.token, '2025', url);
    const lease = leaseIn(await mcp.call('work_next', { assignedToMe: true }));
    await until('released', async () => (await claimOf(task.id))?.status === 'released');
    assert.match(await mcp.refused('work_done', { lease, summary: 'late' }), /write nothing more for it/);

    const kept = await endpointWith();
    const other = await connect(one.token, '2026', kept.url);
    await other.call('work_next', { assignedToMe: true, waitSeconds: 10 });
    assert.equal((await claimOf(task.id))?.status, 'active');
    await kept.close();
    assert.equal((await claimOf(task.id))?.status, 'released');
    assert.equal((await send(kept.url, one.token)).status, 503);
  });

  test('a client that makes no call has a sign of life three times in each lease', async () => {
    const one = await baton.participant();
    await taskFor(one);
    const { url } = await endpointWith({ leaseSeconds: 10 });
    const mcp = await connect(one.token, '2025', url);
    const lease = leaseIn(await mcp.call('work_next', { assignedToMe: true }));
    const session = async () => {
      const { items } = await baton.admin.sessions.list({ status: 'active', limit: 200 });
      return items.find(({ principalId }) => principalId === one.principalId);
    };
    const renewals = async (count: number) => {
      const seen = new Set<string>();
      await until(`${count} renewals`, async () => {
        const { heartbeatAt, expiresAt } = (await session()) ?? assert.fail('the session has ended');
        // The lease is at least three renewal intervals long, so a single missed renewal doesn't end the session.
        assert.ok(Date.parse(expiresAt) - Date.parse(heartbeatAt) >= 9_000);
        return seen.add(heartbeatAt).size > count;
      });
    };
    await renewals(1);
    await mcp.call('work_done', { lease, summary: 'done' });
    // The client no longer holds a lease, but its session is still renewed.
    await renewals(1);
  });

  test('work that was granted after its client disconnected is not taken', async () => {
    const one = await baton.participant();
    const wait = { name: 'work_next', arguments: { assignedToMe: true, waitSeconds: 30 } };
    const gone = new AbortController();
    const waiting = fetch(`${baton.url}/mcp`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        authorization: `Bearer ${one.token}`,
      },
      body: JSON.stringify({ ...list, method: 'tools/call', params: wait }),
      signal: gone.signal,
    }).then((response) => response.text());
    await sleep(1_000);
    gone.abort();
    await assert.rejects(waiting);
    const task = await taskFor(one);
    await sleep(7_000);
    assert.notEqual((await claimOf(task.id))?.status, 'active');
  });

  test('clients are bounded, and idle ones that hold nothing make room', async () => {
    const [one, two, three] = [
      await baton.participant(),
      await baton.participant(),
      await baton.participant(),
    ];
    const { url } = await endpointWith({ clientsMax: 2 });
    await taskFor(one);
    const holder = await connect(one.token, '2025', url);
    await holder.call('work_next', { assignedToMe: true });
    assert.equal((await send(url, two.token)).status, 200);
    assert.equal((await send(url, three.token)).status, 200, 'the second made room');
    await taskFor(three);
    await (await connect(three.token, '2025', url)).call('work_next', { assignedToMe: true });
    const full = await send(url, two.token);
    assert.equal(full.status, 503);
    assert.equal(full.headers.get('retry-after'), '1');
  });

  test('tokens that are not known yet are bounded for each client, not for the proxy in front of all of them', async () => {
    const go = Promise.withResolvers<void>();
    let opened = 0;
    const countedAs: McpEndpointOptions['countedAs'] = ({ headers }) => String(headers['x-from']);
    const transport = () => async (request: WireRequest) => {
      opened += 1;
      await go.promise;
      return fetchTransport(request);
    };
    const { url } = await endpointWith({ openingsOfAddressMax: 2 }, { countedAs, transport });
    const ask = (from: string, token: string) => send(url, token, list, { 'x-from': from });
    const held = [ask('one', 'wrong-1'), ask('one', 'wrong-2')];
    await until('both are checked', async () => opened === 2);
    assert.equal((await ask('one', agent.token)).status, 503);
    const other = ask('two', agent.token);
    await until('another client is checked at the same time', async () => opened === 3);
    go.resolve();
    assert.equal((await other).status, 200);
    for (const answer of held) assert.equal((await answer).status, 401);
  });

  test('requests of one token are bounded', async () => {
    const one = await baton.participant();
    const { url } = await endpointWith({ requestsMax: 2 });
    const mcp = await connect(one.token, '2025', url);
    const wait = { name: 'work_next', arguments: { assignedToMe: true, waitSeconds: 8 } };
    const waiting = [1, 2].map((id) =>
      send(url, one.token, { ...list, id, method: 'tools/call', params: wait }),
    );
    await until('refused', async () => (await send(url, one.token)).status === 429);
    for (const response of await Promise.all(waiting))
      assert.match(await response.text(), /No work is available for you/);
    assert.equal((await mcp.tools()).length > 0, true);
  });

  test('a revoked token is rejected at its next check', async () => {
    const one = await baton.participant();
    const { url } = await endpointWith({ believedMs: 0 });
    assert.equal((await send(url, one.token)).status, 200);
    await baton.admin.identity.platformAccessTokens.revokeOwn({ token: one.token });
    assert.equal((await send(url, one.token)).status, 401);
  });

  test('a revoked token is rejected also while its permissions are cached', async () => {
    const one = await baton.participant();
    const { url } = await endpointWith({ uncheckedMs: 0 });
    assert.equal((await send(url, one.token)).status, 200);
    await baton.admin.identity.platformAccessTokens.revokeOwn({ token: one.token });
    assert.equal((await send(url, one.token)).status, 401);
  });

  test('a token that was revoked in the midst of work loses its lease without a further call', async () => {
    const one = await baton.participant();
    const task = await taskFor(one);
    const { url } = await endpointWith({ believedMs: 0, sweepEveryMs: 200, leaseSeconds: 10 });
    const mcp = await connect(one.token, '2025', url);
    await mcp.call('work_next', { assignedToMe: true });
    await sleep(1_000);
    assert.equal((await claimOf(task.id))?.status, 'active');
    await baton.admin.identity.platformAccessTokens.revokeOwn({ token: one.token });
    // The release fails too, because coordination rejects the revoked access token, so the lease ends by expiring.
    await until('lost', async () => (await claimOf(task.id))?.status !== 'active');
  });

  test('a client that is silent while its access token expires keeps its lease, and continues with the next one', async () => {
    const brief = await startRunningBaton({ IAM_TOKEN_TTL_SECONDS: '8' });
    closers.push(() => brief.stop());
    const one = await brief.participant();
    const task = await brief.admin.tasks.create({ title: 'silent', assigneeId: one.principalId });
    const newToken = async () => {
      const order = { token: one.token, audience: 'control-plane' };
      return (await brief.admin.identity.platformAccessTokens.exchange(order)).accessToken;
    };
    const { url } = await endpointWith(
      { leaseSeconds: 10, idleMs: 600_000, sweepEveryMs: 100 },
      { localUrl: brief.url },
    );
    const first = await newToken();
    const mcp = await connect(first, '2025', url);
    const lease = leaseIn(await mcp.call('work_next', { assignedToMe: true }));
    const claim = async () =>
      (await brief.admin.claims.list({ taskId: task.id })).items[0] ?? assert.fail('no claim');
    await until('the lease is extended to the idle limit', async () => {
      const { heartbeatAt, expiresAt } = await claim();
      return Date.parse(expiresAt) - Date.parse(heartbeatAt) > 500_000;
    });
    await until('the token is rejected', async () => (await send(url, first)).status === 401);
    assert.equal((await claim()).status, 'active');
    const next = await connect(await newToken(), '2025', url);
    assert.match(await next.call('work_done', { lease, summary: 'done' }), new RegExp(task.publicId));
  });

  test('a stopping Baton first releases the leases of its clients', async () => {
    const stopping = await startRunningBaton();
    const one = await stopping.participant();
    const { id } = await stopping.admin.tasks.create({ title: 'held', assigneeId: one.principalId });
    const mcp = await connect(one.token, '2025', `${stopping.url}/mcp`);
    leaseIn(await mcp.call('work_next', { assignedToMe: true }));
    stopping.process.child.kill('SIGTERM');
    await stopping.process.ended;
    // The lease can only have been released while the services still responded.
    const again = await startRunningBaton({ BATON_HOME: stopping.home, ...stopping.databaseSettings });
    const { items } = await again.admin.claims.list({ taskId: id });
    await again.stop();
    await stopping.stop();
    assert.deepEqual(
      items.map(({ status }) => status),
      ['released'],
    );
  });
});
