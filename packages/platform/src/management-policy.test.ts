import assert from 'node:assert/strict';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { networkInterfaces } from 'node:os';
import { test } from 'node:test';
import { readManagementPolicy, readPlatformSettings } from './config.ts';
import { rejectManagementRequest } from './management-policy.ts';
import { reachableUrls } from './own-addresses.ts';
import { printReadyPage } from './ready-page.ts';
import { openRouter } from './router.ts';

const elsewhere = '192.0.2.7';

interface Asked {
  readonly from: string;
  readonly url?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
}

/** The status with which a request is rejected; 0 if it is accepted. */
function refusalOf({ from, url = '/metrics', headers = {}, env = {} }: Asked): number {
  const req = { url, headers, socket: { remoteAddress: from } } as unknown as IncomingMessage;
  return rejectManagementRequest(req, readManagementPolicy(readPlatformSettings(env)))?.status ?? 0;
}

const withSecret = { url: '/iam/api/v1/tenants', headers: { 'x-iam-bootstrap-token': 'secret' } };

test('another machine can use neither /metrics nor administrator secrets, in any spelling of the path', () => {
  const forms = [
    '/metrics',
    '/metrics/',
    '//metrics',
    '/%6Detrics?a=1',
    '/METRICS',
    '/metrics;a',
    'http://baton.example/metrics',
    // HTTP parsers accept these forms, and the routers ignore the first character.
    '*metrics',
    '*api/v1/bootstrap',
    '/api/v1/bootstrap',
    '/api/v1/bootstra%70',
  ];
  for (const url of forms) {
    assert.equal(refusalOf({ from: elsewhere, url }), 403, url);
    assert.equal(refusalOf({ from: '127.0.0.1', url }), 0, url);
  }
  assert.equal(refusalOf({ from: elsewhere, ...withSecret }), 403);
  for (const url of [
    '/',
    '/iam/api/v1/platform-access-tokens:exchange',
    '/api/v1/tasks',
    '/health/ready',
    '/%',
  ])
    assert.equal(refusalOf({ from: elsewhere, url }), 0, url);
});

test('this machine is recognized by any of its addresses', () => {
  const own = Object.values(networkInterfaces()).flatMap(
    (found) => found?.map(({ address }) => address) ?? [],
  );
  for (const from of [...own, '::1', '127.0.0.9', '::ffff:127.0.0.1'])
    assert.equal(refusalOf({ from, ...withSecret }), 0, from);
});

test('networks that the setting names are let in, and a token of its own is enough for /metrics', () => {
  const env = { BATON_MANAGEMENT_NETWORKS: '["192.0.2.0/24"]' };
  for (const from of [elsewhere, `::ffff:${elsewhere}`]) assert.equal(refusalOf({ from, env }), 0, from);
  assert.equal(refusalOf({ from: '198.51.100.1', env }), 403);
  const everybody = { BATON_MANAGEMENT_NETWORKS: '["0.0.0.0/0", "::/0"]' };
  for (const from of [elsewhere, '2001:db8::1']) assert.equal(refusalOf({ from, env: everybody }), 0, from);
  const withToken = { CP_METRICS_TOKEN: 'a-token-for-metrics' };
  assert.equal(refusalOf({ from: elsewhere, env: withToken }), 0);
  assert.equal(refusalOf({ from: elsewhere, env: withToken, ...withSecret }), 403);
});

test('a request through a proxy on this machine is not local', () => {
  const through = (address: string) => ({ 'x-forwarded-for': address });
  const env = { CP_TRUSTED_PROXIES: '["127.0.0.1"]' };
  assert.equal(refusalOf({ from: '127.0.0.1', headers: through(elsewhere), env }), 403);
  assert.equal(refusalOf({ from: '127.0.0.1', headers: through('127.0.0.1'), env }), 0);
  // The first address was sent by the client, the second was appended by the proxy.
  assert.equal(refusalOf({ from: '127.0.0.1', headers: through(`127.0.0.1, ${elsewhere}`), env }), 403);
  // Through a proxy that isn't trusted, the client is unknown, whatever headers the proxy sends.
  const usual = ['x-forwarded-for', 'forwarded', 'x-real-ip', 'x-forwarded-host', 'via'];
  const names = [...usual, 'x-forwarded-proto', 'x-client-ip', 'cf-connecting-ip', 'true-client-ip'];
  for (const name of names)
    assert.equal(refusalOf({ from: '127.0.0.1', headers: { [name]: '127.0.0.1' } }), 403, name);
  assert.equal(refusalOf({ from: '127.0.0.1', headers: { via: '1.1 proxy' }, env }), 403);
  // A proxy isn't accepted just because it is in an allowed network.
  const networks = { BATON_MANAGEMENT_NETWORKS: '["192.0.2.0/24"]' };
  const viaProxy = { from: elsewhere, headers: through('198.51.100.1') };
  assert.equal(refusalOf({ ...viaProxy, env: networks }), 403);
  const named = { ...networks, CP_TRUSTED_PROXIES: `["${elsewhere}"]` };
  assert.equal(refusalOf({ ...viaProxy, env: named }), 403);
  assert.equal(refusalOf({ from: elsewhere, headers: through('192.0.2.9'), env: named }), 0);
});

test('over HTTP, one that is turned rejection reads why, and its request reaches no service', async (t) => {
  const asked: string[] = [];
  const service = {
    handler: (req: IncomingMessage, res: ServerResponse) => {
      asked.push(req.url ?? '');
      res.end('served');
    },
    close: async () => undefined,
  };
  const policy = { hosts: [], ownOrigins: [], origins: [] };
  const settings = readPlatformSettings({ CP_TRUSTED_PROXIES: '["127.0.0.1"]' });
  const router = await openRouter('127.0.0.1', 0, policy, readManagementPolicy(settings));
  t.after(async () => {
    await router.drain(0);
    router.close();
  });
  router.routeTo({ identity: service, coordination: service });
  const ask = async (path: string, headers: Readonly<Record<string, string>>) => {
    const answer = await fetch(`http://127.0.0.1:${router.port}${path}`, { headers });
    return { status: answer.status, text: await answer.text() };
  };
  const forwarded = { 'x-forwarded-for': elsewhere };
  for (const [path, headers] of [
    ['/metrics', forwarded],
    ['/iam/api/v1/tenants', { ...forwarded, ...withSecret.headers }],
  ] as const) {
    const { status, text } = await ask(path, headers);
    const { error } = JSON.parse(text) as { error: { code: string; message: string } };
    assert.deepEqual([status, error.code], [403, 'address_not_allowed'], path);
    assert.match(error.message, /this machine only.*BATON_MANAGEMENT_NETWORKS/);
  }
  assert.deepEqual(asked, []);
  assert.equal((await ask('/metrics', {})).text, 'served');
  assert.equal((await ask('/iam/api/v1/tenants', withSecret.headers)).text, 'served');
  assert.equal((await ask('/api/v1/tasks', forwarded)).text, 'served');
});

test('with HOST=0.0.0.0 the ready page names the addresses for other machines, else none', () => {
  const own = Object.values(networkInterfaces())
    .flatMap((found) => found ?? [])
    .filter(({ internal, family }) => !internal && family === 'IPv4')
    .map(({ address }) => `http://${address}:8080`);
  assert.deepEqual(reachableUrls('0.0.0.0', 8080), own);
  assert.deepEqual(reachableUrls('127.0.0.1', 8080), []);
  const printed = (urls: readonly string[]) => {
    const lines: string[] = [];
    const connection = { publicUrl: 'http://127.0.0.1:8080', identityUrl: 'http://127.0.0.1:8080/iam' };
    const consoleUrl = 'http://localhost:8080';
    const page = { connection, consoleUrl, signInUrl: '', reachableUrls: urls, home: '/home' } as never;
    printReadyPage(page, (line) => lines.push(line));
    return lines.join('\n');
  };
  assert.match(
    printed(['http://192.0.2.1:8080', 'http://192.0.2.2:8080']),
    /From other machines +http:\/\/192\.0\.2\.1:8080\n +http:\/\/192\.0\.2\.2:8080\n\n[^]*BATON_MANAGEMENT_NETWORKS/,
  );
  assert.doesNotMatch(printed([]), /From other machines/);
  assert.match(printed([]), /The console, where people use passkeys +http:\/\/localhost:8080\n/);
});
