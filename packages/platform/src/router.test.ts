import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type IncomingMessage, request as requestHttp, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { afterEach, beforeEach, test } from 'node:test';
import type { RunningService } from '@baton/kernel/http/running-service';
import { assertTookLess } from '@baton/testing/depth';
import { openRouter, type Router } from './router.ts';
import { StartError } from './start-error.ts';

const policy = {
  hosts: ['baton.example'],
  ownOrigins: ['baton.example'],
  origins: ['https://app.example'],
  originsSetting: 'CP_CORS_ORIGINS',
};

let router: Router;
let release: () => void;

/** A service that returns its name and the path; `/slow` waits for `release`. */
function echo(name: string): RunningService {
  const released = new Promise<void>((resolve) => {
    const releaseOthers = release;
    release = () => {
      releaseOthers?.();
      resolve();
    };
  });
  return {
    async handler(req: IncomingMessage, res: ServerResponse) {
      if (req.url === '/slow') await released;
      res.end(`${name} ${req.url}`);
    },
    upgrade: (req, socket) => socket.end(`HTTP/1.1 101 ${name}${req.url}\r\n\r\n`),
    close: async () => undefined,
  };
}

beforeEach(async () => {
  release = () => undefined;
  router = await openRouter('127.0.0.1', 0, policy);
});

afterEach(async () => {
  await router.drain(0);
  router.close();
});

const get = async (path: string) => {
  const response = await fetch(`http://127.0.0.1:${router.port}${path}`);
  return `${response.status} ${await response.text()}`;
};

test('identity gets /iam and all below it, without the prefix; coordination gets everything else', async () => {
  router.routeTo({ identity: echo('identity'), coordination: echo('coordination') });
  router.markReady();
  assert.equal(await get('/iam/api/v1/tenants?x=1'), '200 identity /api/v1/tenants?x=1');
  assert.equal(await get('/iam'), '200 identity /');
  assert.equal(await get('/iam?x=1'), '200 identity /?x=1');
  assert.equal(await get('/iam/iam/x'), '200 identity /iam/x');
  assert.equal(await get('/iamb/x'), '200 coordination /iamb/x');
  assert.equal(await get('/api/v1/tasks/A-1:claim'), '200 coordination /api/v1/tasks/A-1:claim');
  assert.equal(await get('/health/ready'), '200 coordination /health/ready');
});

test('coordination answers a request that can not be parsed; before the services run, the connection is closed', async () => {
  const talk = async () => {
    const socket = connect(router.port, '127.0.0.1');
    let answer = '';
    socket.on('data', (chunk) => (answer += String(chunk)));
    socket.write('GIBBERISH\r\n\r\n');
    await once(socket, 'close');
    return answer;
  };
  assert.equal(await talk(), '');
  const coordination: RunningService = {
    ...echo('coordination'),
    unreadable: (_error, socket) => socket.end('refused'),
  };
  router.routeTo({ identity: echo('identity'), coordination });
  assert.equal(await talk(), 'refused');
});

test('upgrades are routed like requests', async () => {
  router.routeTo({ identity: echo('identity'), coordination: echo('coordination') });
  for (const [path, seen] of [
    ['/api/v1/events/ws', 'coordination/api/v1/events/ws'],
    ['/iam/x', 'identity/x'],
  ]) {
    const socket = connect(router.port, '127.0.0.1');
    socket.write(
      `GET ${path} HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n`,
    );
    const [head] = (await once(socket, 'data')) as [Buffer];
    assert.equal(head.toString().split('\r\n')[0], `HTTP/1.1 101 ${seen}`);
    socket.destroy();
  }
});

/** Sends the lines of a request head and returns the response's status. */
async function statusOf(...lines: string[]): Promise<number> {
  const socket = connect(router.port, '127.0.0.1');
  socket.write(`${lines.join('\r\n')}\r\n\r\n`);
  const [head] = (await once(socket, 'data')) as [Buffer];
  socket.destroy();
  return Number(head.toString().split(' ', 2)[1]);
}

test('a Host that is neither an address nor a known name is turned rejection, also from /metrics and upgrades', async () => {
  router.routeTo({ identity: echo('identity'), coordination: echo('coordination') });
  router.markReady();
  const upgrade = ['connection: upgrade', 'upgrade: websocket'];
  for (const host of [
    'evil.example',
    'evil.example:8080',
    '127.0.0.1.evil.example',
    'localhost.evil',
    '[::1',
    '',
  ]) {
    for (const path of ['/metrics', '/api/v1/tasks', '/iam/api/v1/tenants', '/health/ready'])
      assert.equal(await statusOf(`GET ${path} HTTP/1.1`, `host: ${host}`), 421, `${host} ${path}`);
    assert.equal(await statusOf('GET /api/v1/events/ws HTTP/1.1', `host: ${host}`, ...upgrade), 421, host);
  }
  for (const host of [
    'localhost',
    'LOCALHOST:8080',
    '127.0.0.1:1',
    '[::1]:8080',
    '10.1.2.3',
    'Baton.example.:443',
  ])
    assert.equal(await statusOf('GET /metrics HTTP/1.1', `host: ${host}`), 200, host);
  assert.equal(await statusOf('GET /metrics HTTP/1.0'), 200, 'HTTP/1.0 has no Host');
});

test('pages of other origins are turned rejection, except those that are named', async () => {
  router.routeTo({ identity: echo('identity'), coordination: echo('coordination') });
  router.markReady();
  const ask = (origin: string, ...more: string[]) =>
    statusOf('GET /metrics HTTP/1.1', 'host: localhost:8080', `origin: ${origin}`, ...more);
  for (const origin of ['http://evil.example', 'null', 'http://localhost:3000', 'https://app.example.evil'])
    assert.equal(await ask(origin), 403, origin);
  assert.equal(await ask('http://evil.example', 'connection: upgrade', 'upgrade: websocket'), 403);
  for (const origin of ['http://localhost:8080', 'https://baton.example', 'https://app.example'])
    assert.equal(await ask(origin), 200, origin);
});

/** A GET by node:http, which sends any Host. @returns status, type and body */
async function fetched(path: string, headers: Record<string, string>, method = 'GET') {
  const request = requestHttp({ host: '127.0.0.1', port: router.port, path, method, headers, agent: false });
  request.end();
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  let body = '';
  for await (const chunk of response.setEncoding('utf8')) body += chunk;
  return { status: response.statusCode, headers: response.headers, body };
}

const browser = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };

test('a wrong host or origin is rejected with the reason and the setting to change', async () => {
  router.routeTo({ identity: echo('identity'), coordination: echo('coordination') });
  const cases: [headers: Record<string, string>, status: number, code: string, reason: RegExp][] = [
    [{ host: 'tasks.example:8080' }, 421, 'misdirected_request', /"tasks\.example".*BATON_ALLOWED_HOSTS/],
    [
      { host: 'localhost', origin: 'https://page.example' },
      403,
      'origin_not_allowed',
      /"https:\/\/page\.example".*CP_CORS_ORIGINS/,
    ],
  ];
  for (const [headers, status, code, reason] of cases) {
    const answer = await fetched('/api/v1/tasks', headers);
    const { error } = JSON.parse(answer.body) as { error: Record<string, string> };
    assert.deepEqual([answer.status, error['code']], [status, code]);
    assert.match(error['message'] as string, reason);
    assert.equal(answer.headers['x-request-id'], error['requestId']);
    const page = await fetched('/', { ...headers, ...browser });
    assert.deepEqual([page.status, page.headers['content-type']], [status, 'text/html; charset=utf-8']);
    assert.match(page.body, /BATON_ALLOWED_HOSTS|CP_CORS_ORIGINS/);
  }
});

test('a page shows nothing of a request as markup', async () => {
  const { body } = await fetched('/', { host: '<script>x</script>', ...browser });
  assert.ok(body.includes('&#60;script&#62;') && !body.includes('<script'), body);
});

test("for an unknown URL a browser gets a page, and a program the service's response", async () => {
  const unknown: RunningService = {
    handler(req, res) {
      if (req.url === '/known') return void res.end('known');
      res.setHeader('content-type', 'application/json');
      res.writeHead(404, { 'content-length': 9, 'x-request-id': 'req_1' });
      res.end('{"no":1}\n');
    },
    close: async () => undefined,
  };
  router.routeTo({ identity: unknown, coordination: unknown });
  for (const path of ['/nowhere', '/iam', '/iam/nowhere']) {
    const page = await fetched(path, browser);
    assert.deepEqual(
      [page.status, page.headers['content-type'], page.headers['x-request-id']],
      [404, 'text/html; charset=utf-8', 'req_1'],
      path,
    );
    assert.match(page.body, /<h1>Page not found<\/h1>/);
    assert.equal(page.headers['content-length'], String(Buffer.byteLength(page.body)));
    const head = await fetched(path, browser, 'HEAD');
    assert.deepEqual([head.status, head.body], [404, '']);
    for (const accept of ['application/json', '*/*'])
      assert.equal((await fetched(path, { accept })).body, '{"no":1}\n');
  }
  assert.equal((await fetched('/known', browser)).body, 'known');
});

test('a browser that comes before the services run sees that Baton is starting', async () => {
  const { status, headers, body } = await fetched('/', browser);
  assert.deepEqual([status, headers.refresh], [503, '2']);
  assert.match(body, /<h1>Baton is starting<\/h1>/);
});

test('the port answers 503 from the start, and is ready only after markReady', async () => {
  const starting = /^503 {"status":"unavailable","reason":"starting","error":{"code":"unavailable",/;
  assert.match(await get('/health/ready'), starting);
  assert.match(await get('/api/v1/tasks'), starting);
  router.routeTo({ identity: echo('identity'), coordination: echo('coordination') });
  assert.match(await get('/health/ready'), starting);
  assert.equal(await get('/health/live'), '200 coordination /health/live');
  router.markReady();
  assert.equal(await get('/health/ready'), '200 coordination /health/ready');
});

test('a drain finishes the request in progress and takes no new one', async () => {
  router.routeTo({ identity: echo('identity'), coordination: echo('coordination') });
  await get('/warm');
  const slow = get('/slow');
  await get('/warm');
  const drained = router.drain(5000);
  await assert.rejects(fetch(`http://127.0.0.1:${router.port}/new`, { headers: { connection: 'close' } }));
  release();
  assert.equal(await slow, '200 coordination /slow');
  const began = performance.now();
  await drained;
  assertTookLess(began, 4000);
});

test('a drain stops waiting for a request that does not end', async () => {
  router.routeTo({ identity: echo('identity'), coordination: echo('coordination') });
  const slow = get('/slow').catch(() => 'cut');
  await get('/warm');
  await router.drain(50);
  router.close();
  assert.equal(await slow, 'cut');
});

test('a port in use is refused with one sentence', async () => {
  await assert.rejects(openRouter('127.0.0.1', router.port, policy), (error: Error) => {
    assert.ok(error instanceof StartError);
    assert.match(
      error.message,
      new RegExp(`^Port ${router.port} on 127\\.0\\.0\\.1 is already in use[^\n]+$`),
    );
    return true;
  });
});

test('an address of another machine is refused with one sentence', async () => {
  await assert.rejects(openRouter('192.0.2.1', 0, policy), /Cannot listen on 192\.0\.2\.1 .*EADDRNOTAVAIL/);
});
