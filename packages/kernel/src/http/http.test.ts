import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { after, before, test } from 'node:test';
import {
  type DoorService,
  doorBodyBytesMax,
  doorCredential,
  doorTenant,
  startDoors,
} from '../testing/door/door-service.ts';
import { routeOf } from './http.ts';

let doors: DoorService;
before(async () => {
  doors = await startDoors();
});
after(() => doors.close());

const codeOf = (body: unknown) => (body as { code?: string })?.code;

/** Writes `text` to the port unchanged and reads until the server ends the connection. */
function exchange(
  text: string | Buffer,
  more?: (write: (chunk: string) => boolean) => void,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const { port } = doors.server.address() as { port: number };
    const socket = connect(port, '127.0.0.1');
    const chunks: Buffer[] = [];
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.on('error', (error) => (chunks.length === 0 ? reject(error) : undefined));
    socket.on('close', () => resolve(Buffer.concat(chunks).toString()));
    socket.write(text);
    more?.((chunk) => socket.writable && socket.write(chunk));
  });
}

const head = (...lines: string[]) => `${[...lines, 'host: doors', 'connection: close'].join('\r\n')}\r\n\r\n`;

test('a path parameter ends where the verb begins', () => {
  assert.equal(routeOf('/tasks/{ref}:claim'), '/tasks/:ref(^[^:/]+)::claim');
});

test('an unknown verb, a trailing slash and an unknown path are not found', async () => {
  const { id } = await doors.makeDoor();
  for (const [method, path] of [
    ['POST', `/api/doors/${id}:nope`],
    ['POST', `/api/doors/${id}:open:open`],
    ['GET', `/api/doors/${id}:`],
    ['GET', '/api/doors/'],
    ['GET', '/api//doors'],
    ['GET', `/api/doors/${id}/`],
    ['GET', '/doors'],
    ['GET', '/'],
    ['PURGE', '/nowhere'],
    ['OPTIONS', '/nowhere'],
  ] as const) {
    const received = await doors.call(method, path);
    assert.deepEqual([received.status, codeOf(received.body)], [404, 'not_found'], `${method} ${path}`);
  }
});

test('a wrong method answers 405 and names what is allowed, also to the rarer methods', async () => {
  for (const method of ['HEAD', 'DELETE', 'OPTIONS', 'TRACE', 'PUT', 'GET']) {
    const received = await doors.send({ method, path: `/api/doors/${randomUUID()}:open` });
    assert.equal(received.status, 405, method);
    assert.equal(received.headers.allow, 'POST');
  }
  const received = await doors.send({ method: 'PUT', path: '/api/doors' });
  assert.deepEqual(received.headers.allow?.split(', '), ['GET', 'HEAD', 'POST']);
});

test('HEAD answers like GET without a body', async () => {
  const { id } = await doors.makeDoor();
  const got = await doors.call('GET', `/api/doors/${id}`);
  const asked = await doors.call('HEAD', `/api/doors/${id}`);
  assert.deepEqual([asked.status, asked.text], [200, '']);
  assert.equal(asked.headers.etag, got.headers.etag);
  assert.equal(asked.headers['content-length'], got.headers['content-length']);
});

test('a path parameter may be percent-encoded; a path that is not UTF-8 is not found', async () => {
  const { id } = await doors.makeDoor();
  const escaped = id.replaceAll('-', '%2D');
  assert.equal((await doors.call('GET', `/api/doors/${escaped}`)).status, 200);
  for (const path of ['%zz', '%ff', '%ED%A0%80']) {
    const received = await doors.call('GET', `/api/doors/${path}`, undefined, { 'x-request-id': 'bad-url' });
    assert.deepEqual([received.status, codeOf(received.body)], [404, 'not_found'], path);
    assert.equal(received.headers['x-request-id'], 'bad-url');
    assert.match(String(received.headers['x-run-id']), /^run_[0-9a-f]{32}$/);
  }
  for (const colon of ['%3A', '%3a'])
    assert.equal((await doors.call('POST', `/api/doors/${id}${colon}open`)).status, 200);
  assert.equal((await doors.call('GET', `/api/doors/${id}%2Fx`)).status, 404);
  assert.equal((await doors.call('GET', `/api/doors/${'a'.repeat(5000)}`)).status, 404);
});

test('a query parameter given twice is refused, an encoded one is read', async () => {
  assert.equal((await doors.call('GET', '/api/doors?label=a&label=b')).status, 400);
  assert.equal((await doors.call('GET', '/api/doors?%6Cabel=fr%C3%B6nt&wide=true')).status, 200);
  assert.equal((await doors.call('GET', '/api/doors?wide=1')).status, 400);
  assert.equal((await doors.call('GET', '/api/doors?__proto__=1')).status, 400);
  assert.equal((await doors.call('GET', '/api/doors?label[a]=1')).status, 400);
});

test('a limit that is no number is invalid_request, one out of range invalid_limit', async () => {
  for (const limit of ['x', '', '1.5', '1e2']) {
    const received = await doors.call('GET', `/api/doors?limit=${limit}`);
    assert.deepEqual([received.status, codeOf(received.body)], [400, 'invalid_request'], limit);
  }
  for (const limit of ['0', '-1', '201', '9999999999', '9'.repeat(400)]) {
    const received = await doors.call('GET', `/api/doors?limit=${limit}`);
    assert.deepEqual([received.status, codeOf(received.body)], [422, 'invalid_limit'], limit);
  }
  assert.equal((await doors.call('GET', '/api/doors?limit=200')).status, 200);
});

test('the Content-Type of a body does not matter', async () => {
  for (const type of [
    'application/json',
    'text/plain',
    'application/x-www-form-urlencoded',
    'nonsense',
    '/',
    '',
  ]) {
    const received = await doors.call('POST', '/api/doors', { label: 'x' }, { 'content-type': type });
    assert.equal(received.status, 201, type);
  }
});

test('a body that is declared too large is refused unread, one that turns out too large while it streams', async () => {
  const declared = await doors.send({
    method: 'POST',
    path: '/api/doors',
    declaredBytes: doorBodyBytesMax + 1,
  });
  assert.deepEqual([declared.status, codeOf(declared.body)], [413, 'request_too_large']);
  assert.equal(declared.headers.connection, 'close');

  const { authorization } = doorCredential();
  const chunk = `1000\r\n${'x'.repeat(0x1000)}\r\n`;
  const streamed = await exchange(
    head('POST /api/doors HTTP/1.1', `authorization: ${authorization}`, 'transfer-encoding: chunked'),
    (write) => {
      // The client keeps sending while it is being rejected and afterwards, like clients that read the response only at
      // the end.
      for (let sent = 0; sent < 10_000; sent += 1) write(chunk);
      for (let wait = 1; wait < 20; wait += 1) setTimeout(() => write(chunk), wait * 5);
    },
  );
  assert.match(streamed, /^HTTP\/1.1 413 /);
  assert.match(streamed, /request_too_large/);
});

test('a body of exactly the allowed size is read, declared or streamed', async () => {
  const empty = JSON.stringify({ label: 'x', settings: { text: '' } });
  const body = JSON.stringify({
    label: 'x',
    settings: { text: 'y'.repeat(doorBodyBytesMax - empty.length) },
  });
  assert.equal(body.length, doorBodyBytesMax);
  assert.equal((await doors.call('POST', '/api/doors', body)).status, 201);
  assert.equal((await doors.call('POST', '/api/doors', `${body} `)).status, 413);
  const { authorization } = doorCredential();
  const streamed = await exchange(
    `${head('POST /api/doors HTTP/1.1', `authorization: ${authorization}`, 'transfer-encoding: chunked')}${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
  );
  assert.match(streamed, /^HTTP\/1.1 201 /);
});

test('a request id, a correlation id and a run id are taken when they are well formed, else made', async () => {
  const given = { 'x-request-id': 'abc-1._', 'x-run-id': 'run:1.a_b-c' };
  const echoed = await doors.call('GET', '/api/doors', undefined, given);
  assert.equal(echoed.headers['x-request-id'], given['x-request-id']);
  assert.equal(echoed.headers['x-run-id'], given['x-run-id']);
  for (const bad of ['a'.repeat(129), 'a b', 'a/b', 'ä', ' ']) {
    const made = await doors.call('GET', '/nowhere', undefined, {
      'x-request-id': bad,
      'x-run-id': `${bad}/`,
    });
    assert.match(String(made.headers['x-request-id']), /^req_[0-9a-f]{32}$/);
    assert.match(String(made.headers['x-run-id']), /^run_[0-9a-f]{32}$/);
    assert.equal((made.body as { requestId: string }).requestId, made.headers['x-request-id']);
  }
});

test('a caller without a credential is refused before its body is read', async () => {
  const { status, body } = await doors.send({ method: 'POST', path: '/api/doors', declaredBytes: 1000 });
  assert.deepEqual([status, codeOf(body)], [401, 'invalid_credentials']);
});

test('the order of processing: size, route, credential, form, storable text, If-Match, key, permission, handler', async () => {
  const { id } = await doors.makeDoor();
  const path = `/api/doors/${id}`;
  const nobody = doorCredential(doorTenant, 'eve', '');
  const longKey = { 'idempotency-key': 'k'.repeat(201) };
  const steps: [what: string, send: () => ReturnType<DoorService['send']>, code: string][] = [
    [
      'size before route',
      () => doors.send({ method: 'POST', path: '/nowhere', declaredBytes: 2_000_000 }),
      'request_too_large',
    ],
    ['method before credential', () => doors.send({ method: 'PUT', path, body: '{' }), 'method_not_allowed'],
    [
      'credential before form',
      () => doors.send({ method: 'PATCH', path: `${path}?zebra=1`, body: '{' }),
      'invalid_credentials',
    ],
    [
      'form before text',
      () => doors.call('PATCH', path, { label: 'a\0', zebra: 1 }, nobody),
      'invalid_request',
    ],
    ['text before If-Match', () => doors.call('PATCH', path, { label: 'a\0' }, nobody), 'validation_error'],
    [
      'If-Match before key',
      () => doors.call('PATCH', path, { label: 'a' }, { ...nobody, ...longKey }),
      'if_match_required',
    ],
    [
      'key before permission',
      () => doors.call('PATCH', path, { label: 'a' }, { ...nobody, ...longKey, 'if-match': 'door-1' }),
      'invalid_idempotency_key',
    ],
    [
      'permission before object',
      () =>
        doors.call(
          'PATCH',
          `/api/doors/${randomUUID()}`,
          { label: 'a' },
          { ...nobody, 'if-match': 'door-9' },
        ),
      'permission_denied',
    ],
    [
      'object before version',
      () => doors.call('PATCH', `/api/doors/${randomUUID()}`, { label: 'a' }, { 'if-match': 'door-9' }),
      'not_found',
    ],
    [
      'version last',
      () => doors.call('PATCH', path, { label: 'a' }, { 'if-match': 'door-9' }),
      'version_conflict',
    ],
  ];
  for (const [what, send, code] of steps) assert.equal(codeOf((await send()).body), code, what);
});

test('If-Match is read in its three forms, and each change makes a new version', async () => {
  const { id } = await doors.makeDoor();
  for (const [version, form] of ['"door-1"', 'door-2', 'W/"door-3"'].entries()) {
    const received = await doors.call('PATCH', `/api/doors/${id}`, { label: form }, { 'if-match': form });
    assert.deepEqual([received.status, received.headers.etag], [200, `"door-${version + 2}"`], received.text);
  }
});

test('an internal error shows no detail to the client, and the log has it', async () => {
  const { id } = await doors.makeDoor();
  doors.hooks.beforeOpen = async () => {
    throw new Error('the hinge of door 7 is loose');
  };
  const received = await doors.call('POST', `/api/doors/${id}:open`);
  doors.hooks.beforeOpen = async () => undefined;
  assert.equal(received.status, 500);
  assert.deepEqual(received.body, {
    code: 'internal_error',
    details: {},
    requestId: received.headers['x-request-id'],
  });
  const line = doors.logLines.find((text) => text.includes('hinge'));
  assert.ok(line?.includes(String(received.headers['x-request-id'])));
});

test('the description and its page are served without the internet', async () => {
  const { body } = await doors.send({ method: 'GET', path: '/openapi.json' });
  assert.equal((body as { openapi: string }).openapi, '3.1.0');
  const page = await doors.send({ method: 'GET', path: '/docs' });
  assert.doesNotMatch(page.text, /https?:\/\//);
  for (const [, file] of page.text.matchAll(/(?:src|href)="([^"]+)"/g))
    assert.equal((await doors.send({ method: 'GET', path: `/${file}` })).status, 200, file);
});
