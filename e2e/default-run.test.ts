import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { get } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { keepLog, keepSecret } from '@baton/kernel/testing/leaks/leaks';
import { baton as runBaton } from '@baton/testing/baton-process';
import { assertTookLess } from '@baton/testing/depth';
import { type RunningBaton, startRunningBaton } from '@baton/testing/running-baton';

let folder: string;
let secretsFile: string;
let baton: RunningBaton;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'baton-run-'));
  secretsFile = join(folder, 'admin-secrets');
  writeFileSync(secretsFile, '');
  baton = await startRunningBaton({
    IAM_BOOTSTRAP_TOKENS_FILE: secretsFile,
    BATON_ALLOWED_HOSTS: '["baton.internal"]',
    CP_TRUSTED_PROXIES: '["127.0.0.1"]',
  });
});

after(async () => {
  await baton?.stop();
  keepLog(baton?.process.output() ?? '');
  await rm(folder, { recursive: true, force: true, maxRetries: 3 });
});

/** Whether identity accepts the secret as an administrator's. */
async function isAdmitted(secret: string): Promise<boolean> {
  const { identityUrl, tenantId } = baton.connection;
  const headers = { 'x-iam-bootstrap-token': secret };
  const response = await fetch(`${identityUrl}/api/v1/tenants/${tenantId}`, { headers });
  await response.arrayBuffer();
  return response.status === 200;
}

test('SIGHUP reads the admin secrets again each time, and Baton keeps running', async () => {
  // The second signal follows within a second of the first, as when somebody corrects a file immediately.
  for (const name of ['first', 'second']) {
    const secret = `${name}-${randomBytes(16).toString('hex')}`;
    keepSecret(`${name} admin secret`, secret);
    writeFileSync(secretsFile, `${name}:${secret}\n`);
    baton.process.child.kill('SIGHUP');
    const began = performance.now();
    while (!(await isAdmitted(secret)) && performance.now() - began < 60_000) await sleep(20);
    assertTookLess(began, 5000, `the ${name} secret`);
    assert.ok(await isAdmitted(secret), `the ${name} secret is in use:\n${baton.process.output()}`);
  }
});

test("a connection type may use Baton's own port over http, but no other port of this machine", async () => {
  const { coordinationUrl, identityUrl, adminToken } = baton.connection;
  const post = async (url: string, body: object, token?: string) => {
    const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const headers = { 'content-type': 'application/json', ...authorization };
    const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
    return { status: answer.status, body: (await answer.json()) as Record<string, string> };
  };
  const exchange = `${identityUrl}/api/v1/platform-access-tokens:exchange`;
  const { accessToken } = (await post(exchange, { token: adminToken, audience: 'control-plane' })).body;
  const { port } = new URL(baton.url);
  const statusOf = async (version: number, origin: string) => {
    const oauth2 = { authorizeUrl: 'https://p.example/', tokenUrlTemplate: `${origin}/token` };
    const spec = { displayName: 'Doors', auth: ['oauth2'], oauth2 };
    const type = { key: 'doors', version, spec };
    return (await post(`${coordinationUrl}/api/v1/connection-types`, type, accessToken)).status;
  };
  const cases: readonly [host: string, status: number][] = [
    [`127.0.0.1:${port}`, 201],
    [`localhost:${port}`, 201],
    [`127.0.0.1:${Number(port) - 1}`, 422],
    ['localhost:5432', 422],
    ['127.0.0.1', 422],
  ];
  for (const [place, [host, status]] of cases.entries())
    assert.equal(await statusOf(place + 1, `http://${host}`), status, host);
});

test("/mcp counts a client by the address from a trusted proxy, not by the proxy's own", async () => {
  const ask = async (from: string, n: number) => {
    const answer = await fetch(`${baton.url}/mcp`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer wrong-${from}-${n}`,
        'x-forwarded-for': from,
      },
      body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
    });
    await answer.arrayBuffer();
    return answer.status;
  };
  // A busy machine may send a flood more slowly than Baton responds: then no request is rejected.
  const isRefused = async (round: number) => {
    const flood = Array.from({ length: 400 }, (_, n) => ask('198.51.100.1', round * 400 + n));
    const others = Array.from({ length: 40 }, (_, n) => ask('198.51.100.2', round * 40 + n));
    assert.deepEqual(new Set(await Promise.all(others)), new Set([401]));
    return (await Promise.all(flood)).includes(503);
  };
  for (let round = 0; !(await isRefused(round)); round += 1) assert.ok(round < 20, 'the flood is bounded');
});

test('a foreign host name that points to this machine is rejected', async () => {
  const { port, hostname } = new URL(baton.url);
  const ask = (host: string) =>
    new Promise<number | undefined>((done, failed) => {
      const headers = { host: `${host}:${port}` };
      get({ host: hostname, port, path: '/health/live', headers }, (answer) => {
        answer.resume();
        done(answer.statusCode);
      }).on('error', failed);
    });
  assert.deepEqual([await ask('evil.example'), await ask('baton.internal')], [421, 200]);
});

test('no request line ends the process, even with an unusual path', async () => {
  const { port, hostname } = new URL(baton.url);
  const paths = [
    '//',
    '//[',
    '/\\',
    '*',
    'http://',
    'http://[',
    '/%',
    '/iam//',
    '/iam/%',
    '/mcp//',
    '/api/v1//',
    '/?%',
  ];
  for (const path of paths)
    for (const more of ['', 'Upgrade: websocket\r\nConnection: upgrade\r\n']) {
      const socket = connect(Number(port), hostname);
      socket.end(`GET ${path} HTTP/1.1\r\nHost: ${hostname}\r\n${more || 'Connection: close\r\n'}\r\n`);
      let answer = '';
      for await (const chunk of socket) answer += chunk;
      assert.match(answer, /^HTTP\/1\.1 [2345]\d\d /, `${path} ${more}`);
    }
  assert.equal((await fetch(`${baton.url}/health/live`)).status, 200);
});

test('the small company of the demo reports that a running Baton without a memory service has no knowledge', async () => {
  const demo = runBaton(['demo', '--organisation'], { BATON_HOME: baton.home });
  await demo.ended;
  keepLog(demo.output());
  assert.match(demo.output(), /Knowledge: none is attached, since this Baton has no memory service/);
});
