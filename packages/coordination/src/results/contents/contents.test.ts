import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { assertTookLess } from '@baton/testing/depth';
import { newId } from '@baton/values/ids';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, refused } from '../../testing/leases.ts';
import { filesOf, freshBytes, sha256Of, storeArtifact, upload } from '../../testing/results/contents.ts';
import { until } from '../../testing/wait-until.ts';

const bytesMax = 5_000_000;

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination({ CP_ARTIFACT_MAX_BYTES: String(bytesMax) });
});
after(() => baton.close());

const put = (
  bytes: Parameters<typeof upload>[2],
  headers: Record<string, string> = {},
  actor = baton.admin,
) => upload(baton, actor, bytes, headers);
const create = (contentRef: string, actor: Pick<Actor, 'post'> = baton.admin) =>
  actor.post('/artifacts', { type: 'report', name: 'Findings', contentRef });
const rowsOf = async (state: string) =>
  (await baton.pool.rows<{ id: string }>(sql`select id from artifact_contents where state = ${state}`))
    .length;

/** A body of unknown length. */
function chunked(chunks: readonly Uint8Array[]): ReadableStream<Uint8Array> {
  return ReadableStream.from(chunks);
}

/** Opens a connection and sends the head of a PUT with the given headers. */
function putBySocket(
  headers: Record<string, string>,
  actor?: Actor,
): { socket: Socket; answer: Promise<string> } {
  const { hostname, port } = new URL(baton.url);
  const socket = connect(Number(port), hostname);
  let text = '';
  socket.on('data', (chunk) => (text += String(chunk)));
  socket.on('error', () => undefined);
  const all = {
    host: hostname,
    'content-type': 'text/plain',
    ...(actor && { authorization: `Bearer ${actor.token}` }),
    ...headers,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`PUT /api/v1/artifact-contents HTTP/1.1\r\n${lines.join('')}\r\n`);
  return { socket, answer: new Promise((resolve) => socket.on('close', () => resolve(text))) };
}

test('PUT returns 201 with reference, size, type, digest and expiry', async () => {
  const bytes = freshBytes(70_000);
  const { contentRef, expiresAt, ...rest } = await done(put(bytes, { 'content-type': 'image/png' }), 201);
  assert.match(contentRef, /^cref_[0-9a-f-]{36}$/);
  const lifeMs = Date.parse(expiresAt) - Date.now();
  assert.ok(lifeMs > 86_300_000 && lifeMs <= 86_401_000, `${lifeMs} ms`);
  assert.deepEqual(rest, { sizeBytes: 70_000, mediaType: 'image/png', sha256: sha256Of(bytes) });
});

test('a body of unknown length, and one without any byte, are stored too', async () => {
  const bytes = freshBytes(200_000);
  const known = await done(put(chunked([bytes.subarray(0, 10), bytes.subarray(10)])), 201);
  assert.deepEqual([known.sizeBytes, known.sha256], [200_000, sha256Of(bytes)]);
  const empty = await done(put(new Uint8Array(0)), 201);
  assert.deepEqual([empty.sizeBytes, empty.sha256], [0, sha256Of(new Uint8Array(0))]);
});

test('an upload becomes the bytes of any number of artifacts of its uploader', async () => {
  const bytes = freshBytes();
  const { contentRef } = await done(put(bytes, { 'content-type': 'text/plain; charset=utf-8' }), 201);
  for (let n = 0; n < 2; n += 1) {
    const artifact = await done(create(contentRef), 201);
    const { contentState, sizeBytes, mediaType, sha256, uri, content } = artifact;
    assert.deepEqual(
      { contentState, sizeBytes, mediaType, sha256, uri, content },
      {
        contentState: 'stored',
        sizeBytes: 1000,
        mediaType: 'text/plain; charset=utf-8',
        sha256: sha256Of(bytes),
        uri: null,
        content: null,
      },
    );
  }
});

test('an unknown, foreign, malformed or expired reference returns 422 content_ref_not_found', async () => {
  const { contentRef } = await done(put(freshBytes()), 201);
  const colleague = await baton.actor();
  await refused(create(contentRef, colleague), 422, 'content_ref_not_found');
  await refused(create(contentRef, baton.otherAdmin), 422, 'content_ref_not_found');
  for (const other of [`cref_${newId()}`, contentRef.toUpperCase(), contentRef.slice(5), 'x'])
    await refused(create(other), 422, 'content_ref_not_found');
  const id = contentRef.slice('cref_'.length);
  await baton.pool.run(
    sql`update artifact_uploads set expires_at = now() - interval '1 ms' where id = ${id}`,
  );
  await refused(create(contentRef), 422, 'content_ref_not_found');
});

test('the same bytes are stored once per tenant, separate from those of other tenants', async () => {
  const bytes = freshBytes();
  const before = (await filesOf(baton)).length;
  const [first, second] = [
    await done(put(bytes), 201),
    await done(put(bytes, { 'content-type': 'a/b' }), 201),
  ];
  assert.notEqual(first.contentRef, second.contentRef);
  assert.equal((await filesOf(baton)).length, before + 1);
  await done(put(bytes, {}, baton.otherAdmin), 201);
  assert.equal((await filesOf(baton)).length, before + 2);
  assert.equal(await rowsOf('writing'), 0);
});

test('a Content-Type that is missing, malformed or longer than 255 characters returns 400', async () => {
  for (const type of ['', 'text', `text/${'x'.repeat(251)}`, 'text/plain, text/html', 'a/b; ü'])
    assert.deepEqual(await refused(put(freshBytes(), { 'content-type': type }), 400, 'invalid_request'), {
      errors: [{ loc: 'header.content-type', message: 'A media type of at most 255 characters is required' }],
    });
  const { socket, answer } = putBySocket({ 'content-length': '1', 'content-type': 'a/b' }, baton.admin);
  socket.write('x');
  setTimeout(() => socket.end(), 200);
  assert.match(await answer, / 201 /);
});

test('a compressed body, an unknown query and a malformed key are refused before a byte is stored', async () => {
  const files = (await filesOf(baton)).length;
  await refused(put(freshBytes(), { 'content-encoding': 'gzip' }), 400, 'invalid_request');
  await refused(put(freshBytes(), { 'idempotency-key': 'k'.repeat(201) }), 422, 'invalid_idempotency_key');
  const powerless = await baton.actor({ permissions: ['artifacts.read'] });
  await refused(
    put(freshBytes(), { 'idempotency-key': 'k'.repeat(201) }, powerless),
    422,
    'invalid_idempotency_key',
  );
  await refused(put(freshBytes(), {}, powerless), 403, 'permission_denied');
  await refused(put(freshBytes(), { 'content-type': '' }, powerless), 400, 'invalid_request');
  assert.equal((await filesOf(baton)).length, files);
});

test('more bytes than allowed return 413, declared or not, and no part of them remains', async () => {
  const files = (await filesOf(baton)).length;
  const exact = await done(put(freshBytes(bytesMax)), 201);
  assert.equal(exact.sizeBytes, bytesMax);
  assert.deepEqual(await refused(put(freshBytes(bytesMax + 1)), 413, 'request_too_large'), {
    maxBytes: bytesMax,
  });
  const { socket, answer } = putBySocket({ 'transfer-encoding': 'chunked' }, baton.admin);
  const chunk = 'x'.repeat(65_536);
  for (let sent = 0; sent <= bytesMax && socket.writable; sent += chunk.length)
    await new Promise((next) => socket.write(`${chunk.length.toString(16)}\r\n${chunk}\r\n`, next));
  assert.match(await answer, / 413 /);
  await until(async () => (await rowsOf('writing')) === 0);
  assert.equal((await filesOf(baton)).length, files + 1);
});

test('the bytes of a caller without credential or permission are never read', async () => {
  const powerless = await baton.actor({ permissions: ['artifacts.read'] });
  for (const [actor, status] of [
    [undefined, 401],
    [powerless, 403],
  ] as const) {
    // The body never arrives, so a server that waited for it would not respond.
    const { answer } = putBySocket({ 'content-length': '1000' }, actor);
    assert.match(await answer, new RegExp(`^HTTP/1.1 ${status} `));
  }
});

test('a key stores the response; the same key with other bytes or another type returns 409', async () => {
  const bytes = freshBytes();
  const key = { 'idempotency-key': newId() };
  const first = await put(bytes, key);
  assert.equal(first.status, 201);
  const files = (await filesOf(baton)).length;
  const again = await put(bytes, key);
  assert.deepEqual([again.status, again.body], [201, first.body]);
  assert.equal(again.headers.get('idempotency-replayed'), 'true');
  await refused(put(freshBytes(), key), 409, 'idempotency_key_reused');
  await refused(put(bytes, { ...key, 'content-type': 'a/b' }), 409, 'idempotency_key_reused');
  await until(async () => (await filesOf(baton)).length === files);
  assert.equal(await rowsOf('writing'), 0);
});

test('a client that disconnects leaves no data', async () => {
  const files = (await filesOf(baton)).length;
  const { socket } = putBySocket({ 'content-length': '100000' }, baton.admin);
  socket.write('x'.repeat(50_000));
  await until(async () => (await filesOf(baton)).length === files + 1);
  socket.destroy();
  await until(async () => (await filesOf(baton)).length === files);
  await until(async () => (await rowsOf('writing')) === 0);
});

test('twenty stalled uploads hold no database connection and block no request', async () => {
  const files = (await filesOf(baton)).length;
  const slow = Array.from({ length: 20 }, () => putBySocket({ 'content-length': '100000' }, baton.admin));
  for (const { socket } of slow) socket.write('x');
  await until(async () => (await filesOf(baton)).length === files + 20);
  // The statement that recorded the last upload may not have ended yet.
  await until(async () => {
    const [held] = await baton.pool.rows<{ n: number }>(sql`
      select count(*)::int as n from pg_stat_activity
      where datname = current_database() and application_name = 'baton-coordination' and state <> 'idle'`);
    return held?.n === 0;
  }, 'the end of all statements');
  const beganAt = performance.now();
  await done(baton.admin.post('/tasks', { title: 'wanted' }), 201);
  await done(put(freshBytes()), 201);
  await storeArtifact(baton, freshBytes());
  assertTookLess(beganAt, 3000);
  for (const { socket } of slow) socket.destroy();
  await until(async () => (await rowsOf('writing')) === 0);
});

test('more than 96 concurrent transfers of a tenant return 503 with Retry-After', async () => {
  const slow = Array.from({ length: 96 }, () =>
    putBySocket({ 'content-length': '100000' }, baton.otherAdmin),
  );
  await until(async () => (await rowsOf('writing')) === 96);
  const answer = await put(freshBytes(), {}, baton.otherAdmin);
  assert.deepEqual([answer.status, answer.body.error.code], [503, 'unavailable']);
  assert.equal(answer.headers.get('retry-after'), '1');
  await done(put(freshBytes()), 201);
  for (const { socket } of slow) socket.destroy();
  await until(async () => (await rowsOf('writing')) === 0);
  await done(put(freshBytes(), {}, baton.otherAdmin), 201);
});

test('without a store, and with one that fails, PUT returns 503 content_store_unavailable', async () => {
  for (const CP_ARTIFACT_FOLDER of ['', '/dev/null/none']) {
    const { url, close } = await baton.another({ CP_ARTIFACT_FOLDER });
    await refused(upload({ url }, baton.admin, freshBytes()), 503, 'content_store_unavailable');
    await close();
  }
});
