import assert from 'node:assert/strict';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, eventsOf, makeTask, refused } from '../../testing/leases.ts';
import {
  download,
  filesOf,
  freshBytes,
  sha256Of,
  storeArtifact,
  upload,
} from '../../testing/results/contents.ts';
import { until } from '../../testing/wait-until.ts';

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

const read = (artifactId: string, query = '', actor = baton.admin) =>
  actor.get(`/artifacts/${artifactId}/content${query}`);
const purge = (artifactId: string, body: object = { reason: 'It names a customer.' }, actor = baton.admin) =>
  actor.post(`/artifacts/${artifactId}:purge-content`, body);
const readsOf = async (artifactId: string) =>
  (await eventsOf(baton, artifactId)).filter(({ type }) => type === 'artifact.content_read');

async function fileOf(artifactId: string): Promise<string> {
  const [row] = await baton.pool.rows<{ content_id: string }>(
    sql`select content_id from artifacts where id = ${artifactId}`,
  );
  const id = row?.content_id as string;
  return join(baton.env['CP_ARTIFACT_FOLDER'] as string, baton.tenantId, id.slice(-2), id);
}

test('GET returns the bytes with type, length, tag, and headers that prevent their execution', async () => {
  const bytes = freshBytes(300_000);
  const artifact = await storeArtifact(baton, bytes, { mediaType: 'image/png', name: 'Curve.png' });
  const { status, headers, bytes: got } = await download(baton, baton.admin, artifact.id);
  assert.equal(status, 200);
  assert.deepEqual(got, bytes);
  const shown = [
    'content-type',
    'content-length',
    'content-disposition',
    'etag',
    'x-content-type-options',
    'content-security-policy',
    'cache-control',
  ].map((name) => headers.get(name));
  assert.deepEqual(shown, [
    'image/png',
    '300000',
    "inline; filename*=UTF-8''Curve.png",
    `"sha256:${sha256Of(bytes)}"`,
    'nosniff',
    "sandbox; default-src 'none'",
    'private, no-store',
  ]);
});

test('types that a browser would run are attachments, and no name can end the header', async () => {
  for (const [mediaType, kind] of [
    ['text/html; charset=utf-8', 'attachment'],
    ['TEXT/HTML', 'attachment'],
    ['application/xhtml+xml', 'attachment'],
    ['image/svg+xml', 'attachment'],
    ['text/xml', 'attachment'],
    ['application/xml', 'attachment'],
    ['application/atom+xml', 'attachment'],
    ['text/javascript', 'attachment'],
    ['application/x-javascript', 'attachment'],
    ['text/plain', 'inline'],
    ['application/pdf', 'inline'],
  ] as const) {
    const { id } = await storeArtifact(baton, freshBytes(10), { mediaType });
    const { headers } = await download(baton, baton.admin, id);
    assert.ok(headers.get('content-disposition')?.startsWith(`${kind}; `), `${mediaType}: ${kind}`);
  }
  const name = 'a"\r\nset-cookie: x=1;\u2028 ü/..\\(\'*) 🎉';
  const { id } = await storeArtifact(baton, freshBytes(10), { name });
  const { headers } = await download(baton, baton.admin, id);
  assert.equal(headers.get('set-cookie'), null);
  const written = headers.get('content-disposition') as string;
  assert.match(written, /^inline; filename\*=UTF-8''[A-Za-z0-9%._~!-]+$/);
  assert.equal(decodeURIComponent(written.split("''")[1] as string), name);
  const long = await storeArtifact(baton, freshBytes(10), { name: '🎉'.repeat(250) });
  assert.equal((await download(baton, baton.admin, long.id)).status, 200);
});

test('a read is recorded before the first byte; HEAD and a failed read are not', async () => {
  const task = await makeTask(baton);
  const other = await makeTask(baton);
  const bytes = freshBytes();
  const artifact = await storeArtifact(baton, bytes, { task: task.id });
  const head = await fetch(`${baton.url}/api/v1/artifacts/${artifact.id}/content`, {
    method: 'HEAD',
    headers: { authorization: `Bearer ${baton.admin.token}` },
  });
  assert.deepEqual([head.status, head.headers.get('content-length')], [200, '1000']);
  assert.equal((await readsOf(artifact.id)).length, 0);
  await done(read(artifact.id, `?forTask=${other.publicId}`));
  const [event, ...more] = await readsOf(artifact.id);
  assert.deepEqual(more, []);
  assert.deepEqual(
    [event?.payload, event?.actor_id],
    [
      {
        artifactId: artifact.id,
        taskId: task.id,
        forTaskId: other.id,
        runId: null,
        sha256: sha256Of(bytes),
        sizeBytes: 1000,
      },
      baton.admin.principalId,
    ],
  );
  const file = await fileOf(artifact.id);
  await rename(file, `${file}.away`);
  await refused(read(artifact.id), 503, 'content_store_unavailable');
  await writeFile(file, 'shorter');
  await refused(read(artifact.id), 503, 'content_store_unavailable');
  await rename(`${file}.away`, file);
  const { url } = await baton.another({ CP_ARTIFACT_FOLDER: '' });
  assert.equal((await download({ url }, baton.admin, artifact.id)).status, 503);
  assert.equal((await readsOf(artifact.id)).length, 1);
});

test('without bytes it returns 404 content_not_found, after a purge 410 content_purged, both before the store is called', async () => {
  const { id } = await done(baton.admin.post('/artifacts', { type: 'report', name: 'Findings' }), 201);
  assert.deepEqual(await refused(read(id), 404, 'content_not_found'), { artifactId: id });
  const stored = await storeArtifact(baton, freshBytes());
  await done(purge(stored.id));
  assert.deepEqual(await refused(read(stored.id), 410, 'content_purged'), { artifactId: stored.id });
  const { url } = await baton.another({ CP_ARTIFACT_FOLDER: '' });
  assert.equal((await download({ url }, baton.admin, id)).status, 404);
  assert.equal((await download({ url }, baton.admin, stored.id)).status, 410);
});

test('tasks.read alone permits only inputs: 403, and without forTask before every lookup', async () => {
  const reader = await baton.actor({ permissions: ['tasks.read'] });
  const task = await makeTask(baton);
  const artifact = await storeArtifact(baton, freshBytes(), { task: task.id });
  const required = { required: ['artifacts.read'] };
  for (const id of [artifact.id, newId()]) {
    assert.deepEqual(await refused(read(id, '', reader), 403, 'permission_denied'), required);
    assert.deepEqual(await refused(reader.get(`/artifacts/${id}`), 403, 'permission_denied'), required);
  }
  const query = `?forTask=${task.id}`;
  await refused(read(newId(), query, reader), 404, 'not_found');
  await refused(read(artifact.id, `?forTask=${newId()}`, reader), 404, 'not_found');
  assert.deepEqual(await refused(read(artifact.id, query, reader), 403, 'permission_denied'), required);
  await refused(reader.get(`/artifacts/${artifact.id}${query}`), 403, 'permission_denied');
  assert.equal((await readsOf(artifact.id)).length, 0);
});

test("another tenant's bytes return 404", async () => {
  const { id } = await storeArtifact(baton, freshBytes());
  for (const absent of [id, newId()]) {
    await refused(read(absent, '', baton.otherAdmin), 404, 'not_found');
    await refused(purge(absent, undefined, baton.otherAdmin), 404, 'not_found');
  }
});

test(':purge-content deletes the bytes, keeps the record, and writes an event', async () => {
  const task = await makeTask(baton);
  const bytes = freshBytes();
  const artifact = await storeArtifact(baton, bytes, { task: task.id });
  const file = (await fileOf(artifact.id)).split('/').at(-1) as string;
  await baton.pool.run(sql`delete from artifact_uploads`);
  const purged = await done(purge(artifact.id, { reason: `It holds password=${'x'.repeat(20)}` }));
  assert.deepEqual(purged, { ...artifact, contentState: 'purged' });
  assert.deepEqual(await done(baton.admin.get(`/artifacts/${artifact.id}`)), purged);
  assert.ok(!(await filesOf(baton)).includes(file));
  const event = (await eventsOf(baton, artifact.id)).at(-1);
  assert.deepEqual(
    [event?.type, event?.payload],
    [
      'artifact.content_purged',
      {
        artifactId: artifact.id,
        taskId: task.id,
        sha256: sha256Of(bytes),
        sizeBytes: 1000,
        reason: 'It holds [redacted]',
        objectDeleted: true,
      },
    ],
  );
  const count = (await eventsOf(baton, artifact.id)).length;
  assert.deepEqual(await done(purge(artifact.id)), purged);
  assert.equal((await eventsOf(baton, artifact.id)).length, count);
});

test('a purge keeps bytes that another artifact or a live upload shares', async () => {
  const bytes = freshBytes();
  const { contentRef } = await done(upload(baton, baton.admin, bytes), 201);
  const make = () =>
    done(baton.admin.post('/artifacts', { type: 'report', name: 'Findings', contentRef }), 201);
  const [first, second] = [await make(), await make()];
  const file = (await fileOf(first.id)).split('/').at(-1) as string;
  const deletedBy = async (id: string) => {
    await done(purge(id));
    return (await eventsOf(baton, id)).at(-1)?.payload['objectDeleted'];
  };
  assert.equal(await deletedBy(first.id), false);
  assert.deepEqual((await download(baton, baton.admin, second.id)).bytes, bytes);
  // The bytes are kept, because the upload can still be referenced.
  assert.equal(await deletedBy(second.id), false);
  const third = await make();
  await baton.pool.run(sql`delete from artifact_uploads where id = ${contentRef.slice(5)}`);
  assert.ok((await filesOf(baton)).includes(file));
  assert.equal(await deletedBy(third.id), true);
  assert.ok(!(await filesOf(baton)).includes(file));
});

test(':purge-content refuses in the order 403, 404, 409, 503', async () => {
  const { id } = await done(baton.admin.post('/artifacts', { type: 'report', name: 'Findings' }), 201);
  const agent = await baton.actor();
  assert.deepEqual(await refused(purge(newId(), undefined, agent), 403, 'permission_denied'), {
    required: ['admin'],
  });
  await refused(purge(newId()), 404, 'not_found');
  await refused(purge(id), 409, 'content_not_stored');
  const stored = await storeArtifact(baton, freshBytes());
  for (const CP_ARTIFACT_FOLDER of ['', '/dev/null/none']) {
    const { url } = await baton.another({ CP_ARTIFACT_FOLDER });
    const response = await fetch(`${url}/api/v1/artifacts/${stored.id}:purge-content`, {
      method: 'POST',
      headers: { authorization: `Bearer ${baton.admin.token}`, 'content-type': 'application/json' },
      body: '{"reason":"x"}',
    });
    assert.equal(response.status, 503);
    assert.equal(
      ((await response.json()) as { error: { code: string } }).error.code,
      'content_store_unavailable',
    );
  }
  assert.equal((await download(baton, baton.admin, stored.id)).status, 200);
  await refused(purge(stored.id, { reason: '' }), 400, 'invalid_request');
  await refused(purge(stored.id, { reason: 'x'.repeat(2001) }), 400, 'invalid_request');
});

test("a purge succeeds even if its object can't be deleted; the sweep retries the deletion", async () => {
  const artifact = await storeArtifact(baton, freshBytes());
  await baton.pool.run(sql`delete from artifact_uploads`);
  const file = await fileOf(artifact.id);
  await rm(file);
  // With a folder in the place of the object, the deletion fails.
  await mkdir(file);
  await done(purge(artifact.id));
  await until(async () => {
    const [row] = await baton.pool.rows<{ state: string }>(
      sql`select state from artifact_contents where id = ${file.split('/').at(-1)}`,
    );
    return row?.state === 'doomed';
  });
  await rm(file, { recursive: true });
});
