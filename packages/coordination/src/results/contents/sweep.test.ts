import assert from 'node:assert/strict';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, beforeEach, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done } from '../../testing/leases.ts';
import { download, filesOf, freshBytes, storeArtifact, upload } from '../../testing/results/contents.ts';
import { makeWorkerTools } from '../../testing/sweepers.ts';
import { openContentStore } from './open-store.ts';
import { deleteUnreferencedContents } from './sweep.ts';

let baton: TestCoordination;
let worker: ReturnType<typeof makeWorkerTools>;
const logged: string[] = [];
before(async () => {
  baton = await startCoordination();
  worker = makeWorkerTools(baton, logged);
});
after(async () => {
  await worker.close();
  await baton.close();
});
beforeEach(async () => {
  logged.length = 0;
  await sweep();
});

const sweep = () => deleteUnreferencedContents(worker.tools).run();
const put = async (bytes: Uint8Array) =>
  (await done(upload(baton, baton.admin, bytes), 201)).contentRef as string;
const endUploads = () =>
  baton.pool.run(sql`update artifact_uploads set expires_at = now() - interval '1 ms'`);
const count = async (table: 'artifact_uploads' | 'artifact_contents') =>
  (await baton.pool.rows<{ n: number }>({ text: `select count(*)::int as n from ${table}`, values: [] }))[0]
    ?.n;

async function contentIdOf(contentRef: string): Promise<string> {
  const [row] = await baton.pool.rows<{ content_id: string }>(
    sql`select content_id from artifact_uploads where id = ${contentRef.slice(5)}`,
  );
  return row?.content_id as string;
}

test('an unused upload expires, and its bytes are deleted', async () => {
  await put(freshBytes());
  const [files, uploads, contents] = [
    await filesOf(baton),
    await count('artifact_uploads'),
    await count('artifact_contents'),
  ];
  assert.equal(await sweep(), 0);
  assert.deepEqual(await filesOf(baton), files);
  await endUploads();
  assert.equal(await sweep(), 1);
  assert.deepEqual(
    [(await filesOf(baton)).length, await count('artifact_uploads'), await count('artifact_contents')],
    [files.length - 1, (uploads as number) - 1, (contents as number) - 1],
  );
});

test('bytes that an artifact or another upload references are kept, even if another tenant has the same bytes', async () => {
  const bytes = freshBytes();
  const artifact = await storeArtifact(baton, bytes);
  await done(upload(baton, baton.otherAdmin, bytes), 201);
  await endUploads();
  await put(bytes);
  assert.equal(await sweep(), 2);
  assert.deepEqual((await download(baton, baton.admin, artifact.id)).bytes, bytes);
  await endUploads();
  await sweep();
  assert.deepEqual((await download(baton, baton.admin, artifact.id)).bytes, bytes);
  assert.deepEqual(await filesOf(baton, baton.otherTenantId), []);
});

test('the leftovers of an upload after a crash are deleted after an hour, not earlier', async () => {
  const [young, old] = [newId(), newId()];
  const store = openContentStore(worker.tools.settings);
  for (const id of [young, old]) {
    await baton.pool.run(sql`
      insert into artifact_contents (id, tenant_id, state_since)
      values (${id}, ${baton.tenantId}, now() - case when ${id} = ${old} then interval '61 min' else interval '59 min' end)`);
    await store?.write({ tenantId: baton.tenantId, id }, bytesOf([freshBytes()]));
  }
  assert.equal(await sweep(), 1);
  const files = await filesOf(baton);
  assert.deepEqual([files.includes(young), files.includes(old)], [true, false]);
});

test('an object that cannot be deleted blocks no other, is logged, and is retried later', async () => {
  const refs = [await put(freshBytes()), await put(freshBytes()), await put(freshBytes())];
  const [poisoned = '', ...others] = await Promise.all(refs.map(contentIdOf));
  const place = join(baton.env['CP_ARTIFACT_FOLDER'] as string, baton.tenantId, poisoned.slice(-2), poisoned);
  await rm(place);
  await mkdir(place);
  await endUploads();
  const job = deleteUnreferencedContents(worker.tools);
  await job.run();
  const files = await filesOf(baton);
  assert.deepEqual(
    others.filter((id) => files.includes(id)),
    [],
  );
  assert.equal(logged.filter((line) => line.includes(poisoned)).length, 1);
  // The object is postponed: the next run skips it.
  await job.run();
  assert.equal(logged.filter((line) => line.includes(poisoned)).length, 1);
  await rm(place, { recursive: true });
  assert.equal(await sweep(), 1);
});

test('an upload that cannot be deleted blocks no other of its batch', async () => {
  const refs = [await put(freshBytes()), await put(freshBytes()), await put(freshBytes())];
  const poisoned = (refs[1] as string).slice(5);
  const run = (text: string) => baton.pool.run({ text, values: [] });
  await run(`create function refuse_upload() returns trigger language plpgsql as $$ begin
    if old.id = '${poisoned}' then raise exception 'poison'; end if; return old; end $$`);
  await run(
    'create trigger poison before delete on artifact_uploads for each row execute function refuse_upload()',
  );
  await endUploads();
  const job = deleteUnreferencedContents(worker.tools);
  assert.equal(await job.run(), 2);
  assert.equal(await count('artifact_uploads'), 1);
  assert.equal(await job.run(), 0);
  await run('drop trigger poison on artifact_uploads');
  assert.equal(await sweep(), 1);
});

test('more than one batch is swept run by run', async () => {
  const id = await contentIdOf(await put(freshBytes()));
  await baton.pool.run(sql`
    insert into artifact_uploads (id, tenant_id, content_id, created_by, media_type, expires_at)
    select gen_random_uuid(), ${baton.tenantId}::uuid, ${id}::uuid, ${baton.admin.principalId}::uuid, 'a/b', now() - interval '1 s'
    from generate_series(1, 150)`);
  assert.deepEqual([await sweep(), await sweep(), await sweep()], [100, 50, 0]);
  assert.equal((await filesOf(baton)).includes(id), true);
});

async function* bytesOf(chunks: readonly Buffer[]): AsyncGenerator<Buffer> {
  yield* chunks;
}
