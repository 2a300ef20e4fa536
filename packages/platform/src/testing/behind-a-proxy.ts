import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { type ClientRequest, type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { after, before, test } from 'node:test';
import { WebSocket } from 'ws';
import { keepSecret } from '@baton/kernel/testing/leaks/leaks';
import { freePort } from '@baton/kernel/testing/process/free-port';
import { type SeparateServices, startSeparateServices } from './separate-services.ts';

/** The setup of a kind of proxy in front of Baton. */
export interface ProxyKind {
  readonly name: string;
  readonly scheme: 'http' | 'https';
  /** The reason to skip the tests of this proxy, or false. */
  readonly skip: string | false;
  /**
   * @returns a function that stops the proxy, and the proxy's certificate
   */
  start(options: {
    port: number;
    services: SeparateServices;
  }): Promise<{ stop(): Promise<void>; ca?: string | undefined }>;
}

interface Sent {
  readonly method?: string;
  /** Sent verbatim: nothing is encoded or normalized. */
  readonly path: string;
  readonly headers?: Record<string, string>;
  readonly body?: string | Buffer;
  /** The client's address. */
  readonly from?: string;
}

const failuresMax = 3;
const uploadBytes = 20 * 1024 * 1024;

/** Tests of a proxy configuration in `deploy/`, against both services on separate ports. */
export function testBehindProxy(kind: ProxyKind): void {
  let services: SeparateServices;
  let proxy: Awaited<ReturnType<ProxyKind['start']>>;
  let port: number;
  let token: string;
  const skip = kind.skip;

  const open = ({ method = 'GET', path, headers = {}, from = '127.0.0.1' }: Sent): ClientRequest => {
    const options = { host: '127.0.0.1', port, method, path, headers, localAddress: from, agent: false };
    return kind.scheme === 'http'
      ? requestHttp(options)
      : requestHttps({ ...options, ...(proxy.ca !== undefined && { ca: proxy.ca }) });
  };
  const send = async (sent: Sent) => {
    const request = open(sent);
    const answered = answerTo(request);
    request.end(sent.body);
    return answered;
  };
  const call = async (method: string, path: string, body: object) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const answer = await send({ method, path: `/api/v1${path}`, headers, body: JSON.stringify(body) });
    return { status: answer.status, body: JSON.parse(answer.text) as Record<string, any> };
  };
  const exchange = (secret: string, more: Pick<Sent, 'from' | 'headers'> = {}) =>
    send({
      method: 'POST',
      path: '/iam/api/v1/platform-access-tokens:exchange',
      ...more,
      headers: { 'content-type': 'application/json', ...more.headers },
      body: JSON.stringify({ token: secret, audience: 'control-plane' }),
    });

  before(async () => {
    if (skip !== false) return console.warn(`SKIPPED: ${skip}`);
    port = Number(await freePort());
    services = await startSeparateServices(`${kind.scheme}://127.0.0.1:${port}`, {
      IAM_TRUSTED_PROXIES: '["127.0.0.1"]',
      CP_TRUSTED_PROXIES: '["127.0.0.1"]',
      IAM_FAILURES_PER_ADDRESS_MAX: String(failuresMax),
    });
    proxy = await kind.start({ port, services });
    await untilAnswered(() => send({ path: '/health/live' }));
    const { status, text } = await exchange(services.adminToken);
    assert.equal(status, 200, text);
    token = (JSON.parse(text) as { accessToken: string }).accessToken;
    keepSecret('access token', token);
  });
  after(async () => {
    await proxy?.stop();
    await services?.close();
  });

  test(`${kind.name}: signs in below /iam under the public issuer, whose metadata it serves, and claims a task`, {
    skip,
  }, async () => {
    const { iss } = JSON.parse(Buffer.from(token.split('.')[1] as string, 'base64url').toString());
    assert.equal(iss, `${kind.scheme}://127.0.0.1:${port}/iam`);
    const keys = await send({ path: '/iam/.well-known/jwks.json' });
    assert.equal((JSON.parse(keys.text) as { keys: object[] }).keys.length, 1);
    const metadata = await send({ path: '/.well-known/oauth-authorization-server/iam' });
    assert.equal((JSON.parse(metadata.text) as { issuer: string }).issuer, iss);
    const session = await call('POST', '/sessions', { clientName: 'behind a proxy' });
    const task = await call('POST', '/tasks', { title: 'behind a proxy' });
    const claim = await call('POST', `/tasks/${task.body.id}:claim`, { sessionId: session.body.id });
    assert.deepEqual([session.status, task.status, claim.status], [201, 201, 200]);
  });

  test(`${kind.name}: passes WebSockets, and an event comes through one`, { skip }, async () => {
    const ws = new WebSocket(`${kind.scheme.replace('http', 'ws')}://127.0.0.1:${port}/api/v1/events/ws`, {
      headers: { authorization: `Bearer ${token}` },
      ...(proxy.ca !== undefined && { ca: proxy.ca }),
    });
    const seen = new Promise<string>((done, refuse) => {
      ws.on('error', refuse);
      ws.on('message', (data) => {
        const { type, payload } = JSON.parse(String(data)) as { type: string; payload: { title?: string } };
        if (type === 'task.created' && payload.title === 'seen by a stream') done(type);
      });
    });
    await new Promise((done) => ws.once('open', done));
    assert.equal((await call('POST', '/tasks', { title: 'seen by a stream' })).status, 201);
    assert.equal(await seen, 'task.created');
    ws.close();
  });

  test(`${kind.name}: an upload of 20 MiB passes, and as it comes: its refusal arrives before its end`, {
    skip,
  }, async () => {
    const bytes = randomBytes(uploadBytes);
    const upload = { method: 'PUT', path: '/api/v1/artifact-contents' };
    const headers = {
      'content-type': 'application/octet-stream',
      'content-length': String(bytes.length),
      authorization: `Bearer ${token}`,
    };
    const stored = await send({ ...upload, headers, body: bytes });
    assert.equal(stored.status, 201, stored.text);
    assert.equal(JSON.parse(stored.text).sizeBytes, bytes.length);
    const refused = open({ ...upload, headers: { ...headers, authorization: 'Bearer no.such.token' } });
    const answer = answerTo(refused);
    refused.write(bytes.subarray(0, 65_536));
    assert.equal((await answer).status, 401);
    refused.destroy();
  });

  test(`${kind.name}: limits and log see the client's address, whatever X-Forwarded-For it sends`, {
    skip,
  }, async () => {
    const forged = (n: number) => ({ 'x-forwarded-for': `203.0.113.${n}`, forwarded: `for=203.0.113.${n}` });
    const statuses: number[] = [];
    for (let n = 1; n <= failuresMax + 2; n += 1)
      statuses.push((await exchange(`pat_${n}`, { from: '127.0.0.2', headers: forged(n) })).status);
    assert.deepEqual(statuses, [401, 401, 401, 429, 429]);
    const other = await exchange('pat_other', { from: '127.0.0.3', headers: forged(1) });
    assert.equal(other.status, 401);
    const headers = { authorization: 'Bearer no.such.token', ...forged(9) };
    // The last address is the proxy's own, which is trusted.
    for (const from of ['127.0.0.4', '127.0.0.1']) {
      assert.equal((await send({ path: '/api/v1/tasks', headers, from })).status, 401);
      const refusals = services.logged.filter(
        ({ name, reason }) => name === 'coordination' && reason !== undefined,
      );
      assert.equal(refusals.at(-1)?.address, from);
    }
  });

  test(`${kind.name}: /metrics is 404 from outside, however it is written`, { skip }, async () => {
    const direct = await fetch(`http://127.0.0.1:${services.coordinationPort}/metrics`);
    assert.match(await direct.text(), /http_requests_total/);
    const forms = [
      '/metrics',
      '/metrics/',
      '/metrics?a=1',
      '/%6Detrics',
      '/METRICS',
      '//metrics',
      '/./metrics',
    ];
    const detours = [
      '/iam/../metrics',
      '/iam/%2e%2e/metrics',
      '/iam/metrics',
      '/iam/..%2fmetrics',
      '/x/..//metrics',
    ];
    for (const path of [...forms, ...detours]) {
      const { status, text } = await send({ path });
      assert.ok([400, 404, 308].includes(status), `${path} ${status}`);
      assert.doesNotMatch(text, /http_requests_total|iam_presented/, path);
    }
  });
}

async function answerTo(request: ClientRequest): Promise<{ status: number; text: string }> {
  const response = await new Promise<IncomingMessage>((done, refuse) => {
    request.on('response', done);
    // If the connection is closed after the response, the promise is already settled, so this is not a failure.
    request.on('error', refuse);
  });
  let text = '';
  for await (const chunk of response.setEncoding('utf8')) text += chunk;
  return { status: response.statusCode ?? 0, text };
}

async function untilAnswered(ask: () => Promise<{ status: number }>): Promise<void> {
  for (const deadline = performance.now() + 60_000; ; ) {
    const status = await ask().then(
      (answer) => answer.status,
      () => 0,
    );
    if (status === 200) return;
    assert.ok(performance.now() < deadline, `the proxy answers ${status}`);
    await new Promise((done) => setTimeout(done, 50));
  }
}
