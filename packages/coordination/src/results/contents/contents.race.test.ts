import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { raceRounds } from '@baton/testing/depth';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done } from '../../testing/leases.ts';
import { download, filesOf, freshBytes, storeArtifact, upload } from '../../testing/results/contents.ts';
import { makeWorkerTools } from '../../testing/sweepers.ts';
import { deleteUnreferencedContents } from './sweep.ts';

let baton: TestCoordination;
let second: { url: string };
let worker: ReturnType<typeof makeWorkerTools>;
before(async () => {
  baton = await startCoordination();
  second = await baton.another();
  worker = makeWorkerTools(baton);
});
after(async () => {
  await worker.close();
  await baton.close();
});

const sweep = () => deleteUnreferencedContents(worker.tools).run();
const create = (contentRef: string) =>
  baton.admin.post('/artifacts', { type: 'report', name: 'Findings', contentRef });
const endUpload = (contentRef: string, inMs: number) =>
  baton.pool.run(sql`
    update artifact_uploads set expires_at = clock_timestamp() + make_interval(secs => ${inMs / 1000})
    where id = ${contentRef.slice(5)}`);

/** Invariant: bytes that an artifact declares as stored can be read. */
async function everyStoredArtifactIsReadable(): Promise<void> {
  const stored = await baton.pool.rows<{ id: string; content: string | null }>(sql`
    select a.id, c.id as content from artifacts a left join artifact_contents c on c.id = a.content_id and c.state = 'stored'
    where a.content_state = 'stored'`);
  const files = new Set(await filesOf(baton));
  for (const { id, content } of stored) assert.ok(content !== null && files.has(content), id);
}

test('a reference used while the sweep deletes its upload is either refused or keeps its bytes', async () => {
  const seen = { 201: 0, 422: 0 };
  for (let round = 0; round < raceRounds; round += 1) {
    const { contentRef } = await done(upload(baton, baton.admin, freshBytes()), 201);
    await endUpload(contentRef, round % 8);
    const [answer] = await Promise.all([create(contentRef), sweep(), sweep()]);
    await sweep();
    seen[answer.status as 201 | 422] += 1;
    if (answer.status === 201) assert.equal((await download(baton, baton.admin, answer.body.id)).status, 200);
  }
  assert.equal(seen[201] + seen[422], raceRounds, JSON.stringify(seen));
  await everyStoredArtifactIsReadable();
});

test('concurrent uploads of the same bytes, through two processes, create one object', async () => {
  for (let round = 0; round < raceRounds; round += 1) {
    const bytes = freshBytes();
    const before = (await filesOf(baton)).length;
    const answers = await Promise.all(
      [baton, second, baton, second].map((to) => done(upload(to, baton.admin, bytes), 201)),
    );
    assert.equal(new Set(answers.map(({ contentRef }) => contentRef)).size, 4);
    assert.equal((await filesOf(baton)).length, before + 1);
  }
});

test('bytes that are concurrently purged, swept and uploaded can be read through any returned reference', async () => {
  for (let round = 0; round < raceRounds; round += 1) {
    const bytes = freshBytes();
    const artifact = await storeArtifact(baton, bytes);
    await baton.pool.run(sql`update artifact_uploads set expires_at = now() - interval '1 s'`);
    const [purged, again] = await Promise.all([
      baton.admin.post(`/artifacts/${artifact.id}:purge-content`, { reason: 'x' }),
      done(upload(second, baton.admin, bytes), 201).then(({ contentRef }) => done(create(contentRef), 201)),
      sweep(),
    ]);
    assert.equal(purged.status, 200);
    await sweep();
    assert.deepEqual((await download(baton, baton.admin, again.id)).bytes, bytes);
  }
  await everyStoredArtifactIsReadable();
});

test('a purge concurrent with a reference to the same bytes: the new artifact keeps them', async () => {
  for (let round = 0; round < raceRounds; round += 1) {
    const bytes = freshBytes();
    const first = await storeArtifact(baton, bytes);
    const { contentRef } = await done(upload(baton, baton.admin, bytes), 201);
    await baton.pool.run(sql`delete from artifact_uploads where id <> ${contentRef.slice(5)}`);
    await endUpload(contentRef, 5);
    const [, made] = await Promise.all([
      baton.admin.post(`/artifacts/${first.id}:purge-content`, { reason: 'x' }),
      create(contentRef),
      sweep(),
    ]);
    await sweep();
    if (made.status === 201)
      assert.deepEqual((await download(baton, baton.admin, made.body.id)).bytes, bytes);
    else assert.equal(made.body.error.code, 'content_ref_not_found');
  }
  await everyStoredArtifactIsReadable();
});

test('of concurrent purges of one artifact, one writes the event', async () => {
  for (let round = 0; round < raceRounds; round += 1) {
    const { id } = await storeArtifact(baton, freshBytes());
    const answers = await Promise.all(
      [0, 1, 2, 3].map(() => baton.admin.post(`/artifacts/${id}:purge-content`, { reason: 'x' })),
    );
    for (const { status, body } of answers) assert.deepEqual([status, body.contentState], [200, 'purged']);
    const [row] = await baton.pool.rows<{ n: number }>(
      sql`select count(*)::int as n from events where entity_id = ${id} and type = 'artifact.content_purged'`,
    );
    assert.equal(row?.n, 1);
  }
});
