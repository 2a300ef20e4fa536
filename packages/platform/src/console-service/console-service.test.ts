import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { after, before, type TestContext, test } from 'node:test';
import { freePort } from '@baton/kernel/testing/process/free-port';
import { testBehindProxy } from '../testing/behind-a-proxy.ts';
import { privateFolder } from '../testing/private-folder.ts';
import { type SeparateServices, startSeparateServices } from '../testing/separate-services.ts';
import { type ConsoleService, startConsoleService } from './console-service.ts';

const folder = privateFolder();
const printed: string[] = [];
const started: ConsoleService[] = [];
let services: SeparateServices;
let url: string;

const start = async (env: Record<string, string>) => {
  const all = { PORT: '0', BATON_HOME: folder.path, ...env };
  const service = await startConsoleService(all, (line) => printed.push(line));
  started.push(service);
  return service;
};
const addressesOf = ({ coordinationPort, identityPort }: SeparateServices) => ({
  BATON_COORDINATION_URL: `http://127.0.0.1:${coordinationPort}`,
  BATON_IDENTITY_URL: `http://127.0.0.1:${identityPort}/`,
});

before(async () => {
  const port = await freePort();
  services = await startSeparateServices(`http://127.0.0.1:${port}`);
  ({ url } = await start({ ...addressesOf(services), PORT: String(port) }));
});
after(async () => {
  await Promise.all(started.map((service) => service.close()));
  await services?.close();
  await folder.remove();
});

const post = (path: string, body: object, headers: Record<string, string> = {}) =>
  fetch(url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'baton-console-key': 'A'.repeat(43), ...headers },
    body: JSON.stringify(body),
  });

testBehindProxy({
  name: 'baton console serve',
  scheme: 'http',
  skip: false,
  async start({ port, services: behind }) {
    const service = await start({ ...addressesOf(behind), PORT: String(port) });
    return { stop: () => service.close() };
  },
});

test('the page is served in front of services that run apart, and its calls reach them', async () => {
  for (let n = 0; n < 300 && (await fetch(url)).status === 503; n += 1)
    await new Promise((done) => setTimeout(done, 200));
  const page = await fetch(`${url}/inbox`);
  assert.match(await page.text(), /<div id="root"/, printed.join('\n'));
  assert.match(page.headers.get('content-security-policy') ?? '', /default-src 'none'/);
  const signedIn = await post('/console/sign-in', { token: services.adminToken });
  assert.equal(signedIn.status, 200);
  const [cookie = ''] = (signedIn.headers.get('set-cookie') ?? '').split(';', 1);
  const issued = await post('/console/token', {}, { cookie });
  const { accessToken } = (await issued.json()) as { accessToken: string };
  // Sent like the page's own requests, with the console's origin, which coordination does not allow.
  const headers = { authorization: `Bearer ${accessToken}`, origin: url };
  const created = await post('/api/v1/tasks', { title: 'by the console' }, headers);
  assert.equal(created.status, 201, await created.text());
});

test('only the paths of the page are forwarded', async () => {
  const { hostname, port } = new URL(url);
  for (const path of [
    '/metrics',
    '/docs',
    '/api/../metrics',
    '/api/%2e%2e/metrics',
    '/iam/api/..%2f../metrics',
  ]) {
    // Sent as raw text, because fetch would normalize the path.
    const socket = connect(Number(port), hostname);
    socket.end(`GET ${path} HTTP/1.1\r\nHost: ${hostname}\r\nConnection: close\r\n\r\n`);
    let answer = '';
    for await (const chunk of socket) answer += chunk;
    assert.match(answer, /^HTTP\/1\.1 404 /, path);
  }
});

test('other hosts and other origins are rejected', async () => {
  const evil = await post('/api/v1/tasks', { title: 'x' }, { origin: 'https://evil.example' });
  assert.equal(evil.status, 403);
});

test('if a service is unreachable, requests and sockets get 503 unavailable', async () => {
  const alone = await start({ BATON_COORDINATION_URL: `http://127.0.0.1:${await freePort()}` });
  const refused = await fetch(`${alone.url}/api/v1/tasks`);
  const { error } = (await refused.json()) as { error: { code: string; requestId: string } };
  assert.deepEqual([refused.status, error.code], [503, 'unavailable']);
  assert.equal(refused.headers.get('x-request-id'), error.requestId);
  const socket = new WebSocket(`${alone.url.replace('http', 'ws')}/api/v1/events/ws`);
  await new Promise((done) => socket.addEventListener('error', done));
  assert.equal(socket.readyState, WebSocket.CLOSED);
});

/** A service that accepts every WebSocket, and a console in front of it with an open WebSocket. */
async function openThroughConsole(t: TestContext) {
  const upgrades = Promise.withResolvers<Socket>();
  const upstream = createServer().on('upgrade', (_req, socket) => {
    socket.on('error', () => undefined);
    socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n');
    upgrades.resolve(socket as Socket);
  });
  upstream.listen(0, '127.0.0.1');
  await once(upstream, 'listening');
  const { port } = upstream.address() as AddressInfo;
  const service = await start({ BATON_COORDINATION_URL: `http://127.0.0.1:${port}` });
  const browser = connect(Number(new URL(service.url).port), '127.0.0.1').on('error', () => undefined);
  const headers = 'Host: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket';
  browser.write(`GET /api/v1/events/ws HTTP/1.1\r\n${headers}\r\n\r\n`);
  let heard = '';
  browser.on('data', (chunk) => {
    heard += chunk;
  });
  const serving = await upgrades.promise;
  while (!heard.endsWith('\r\n\r\n')) await once(browser, 'data');
  t.after(() => {
    for (const one of [browser, serving]) one.destroy();
    upstream.close();
  });
  return { service, browser, serving, heard: () => heard };
}

test('a socket whose service disconnects is closed, and nothing is written to it', async (t) => {
  const { browser, serving, heard } = await openThroughConsole(t);
  const answer = heard();
  assert.match(answer, /^HTTP\/1\.1 101 /);
  const closed = once(browser, 'close');
  serving.resetAndDestroy();
  await closed;
  assert.equal(heard(), answer);
});

test('a console that stops closes the sockets behind those of its browsers', async (t) => {
  const { service, serving } = await openThroughConsole(t);
  const ended = once(serving.resume(), 'end', { signal: AbortSignal.timeout(60_000) });
  await service.close();
  await ended;
});

test('identity providers are read from identity, with the admin secret', async () => {
  const { tenantId, adminSecret } = services;
  const asked = await start({
    ...addressesOf(services),
    BATON_CONSOLE_PROVIDERS: '["workforce"]',
    BATON_CONSOLE_TENANT_ID: tenantId,
    IAM_BOOTSTRAP_TOKEN: adminSecret,
  });
  const at = async (path: string, body: object) => {
    const headers = { 'content-type': 'application/json', 'baton-console-key': 'A'.repeat(43) };
    const answer = await fetch(`${asked.url}/console/${path}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    });
    return (await answer.json()) as object;
  };
  assert.deepEqual(await at('providers', {}), { providers: ['workforce'] });
  // Only identity can return this: the provider isn't registered there.
  const refused = (await at('provider-sign-in', { provider: 'workforce' })) as { error: { code: string } };
  assert.equal(refused.error.code, 'identity_provider_not_found');
});

test('a setting that can not be used is refused with its name', async () => {
  await assert.rejects(
    start({ BATON_COORDINATION_URL: 'ftp://x' }),
    /BATON_COORDINATION_URL must be an http/,
  );
  // An address without a scheme would be dangerous: cookies would be sent without `Secure`, and its host would be
  // rejected.
  for (const address of ['console.example.com', 'https:console.example.com', 'https://'])
    await assert.rejects(
      start({ BATON_CONSOLE_PUBLIC_URL: address }),
      /BATON_CONSOLE_PUBLIC_URL must be an http/,
      address,
    );
  await assert.rejects(
    start({ BATON_CONSOLE_PROVIDERS: '["workforce"]' }),
    /BATON_CONSOLE_TENANT_ID is required/,
  );
});
