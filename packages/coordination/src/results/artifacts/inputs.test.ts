import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { newId } from '@baton/values/ids';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import {
  done,
  endClaimLease,
  eventsOf,
  makeTask,
  makeWorker,
  refused,
  type Worker,
} from '../../testing/leases.ts';
import { download, freshBytes, storeArtifact, upload } from '../../testing/results/contents.ts';

let baton: TestCoordination;
let worker: Worker;
before(async () => {
  baton = await startCoordination();
  worker = await makeWorker(baton);
  for (const key of ['paper', 'plan', 'photo'])
    await done(baton.admin.post('/artifact-types', { key, displayName: key, mediaTypes: ['*/*'] }), 201);
  await makeType('review', [
    { key: 'draft', type: 'paper', from: 'depends_on', required: true },
    { key: 'plan', type: 'plan', from: 'parent', required: true },
    { key: 'proof', type: 'photo', from: 'spawned_by' },
  ]);
});
after(() => baton.close());

const makeType = (key: string, inputs: object[]) =>
  done(baton.admin.post('/task-types', { key, displayName: key, artifactSchema: { inputs } }), 201);
const record = (task: string, type: string, more: object = {}) =>
  done(baton.admin.post('/artifacts', { type, name: type, task, ...more }), 201);
const relate = (from: string, toTask: string, type: string) =>
  done(baton.admin.post(`/tasks/${from}/relations`, { toTask, type }), 201);
const claim = (id: string) => worker.actor.post(`/tasks/${id}:claim`, { sessionId: worker.sessionId });
const reasonsOf = async (id: string) => (await done(worker.actor.get(`/tasks/${id}/claimability`))).reasons;
const isAvailable = async (id: string) => {
  const { items } = await done(worker.actor.get('/work/available?limit=200'));
  return items.some((task: { id: string }) => task.id === id);
};

const draft = { key: 'draft', type: 'paper', from: 'depends_on' };
const plan = { key: 'plan', type: 'plan', from: 'parent' };

/** A review with a done prerequisite, a parent and an origin that have no artifacts yet. */
async function makeReview() {
  const [review, author, parent, origin] = [
    await makeTask(baton, { typeKey: 'review' }),
    await makeTask(baton),
    await makeTask(baton),
    await makeTask(baton),
  ];
  await relate(review.id, author.id, 'depends_on');
  await relate(review.id, parent.id, 'parent');
  await relate(review.id, origin.id, 'spawned_by');
  const complete = () => done(baton.admin.post(`/tasks/${author.id}:complete`, {}, { 'if-match': 'task-1' }));
  return { review, author, parent, origin, complete };
}

test('a task without its required inputs is unavailable: claim, claimability and available work agree', async () => {
  const { review, author, parent, complete } = await makeReview();
  assert.deepEqual(
    (await reasonsOf(review.id)).map(({ code }: { code: string }) => code),
    ['task_not_ready', 'input_missing'],
  );
  await refused(claim(review.id), 409, 'task_not_ready');
  await complete();
  assert.deepEqual(await refused(claim(review.id), 409, 'input_missing'), {
    taskId: review.id,
    missing: [draft, plan],
  });
  const remedies = [
    { act: 'record_input', method: 'POST', path: '/artifacts', permission: 'artifacts.write', allowed: true },
  ];
  assert.deepEqual(await reasonsOf(review.id), [
    { code: 'input_missing', missing: [draft, plan], since: null, remedies },
  ]);
  const next = await makeTask(baton);
  await relate(next.id, review.id, 'depends_on');
  const [{ blockedBy }] = await reasonsOf(next.id);
  assert.deepEqual(blockedBy[0].reasons, [{ code: 'input_missing' }]);
  assert.equal(await isAvailable(review.id), false);
  await record(author.id, 'paper');
  assert.deepEqual((await refused(claim(review.id), 409, 'input_missing')).missing, [plan]);
  // Neither artifact counts: one is of another type, and the other is on another task of the tree.
  await record(parent.id, 'photo');
  await record(author.id, 'plan');
  assert.deepEqual((await refused(claim(review.id), 409, 'input_missing')).missing, [plan]);
  await record(parent.id, 'plan');
  assert.deepEqual(await reasonsOf(review.id), []);
  assert.equal(await isAvailable(review.id), true);
  await done(claim(review.id));
});

test('an input that was purged is missing, a superseded one is replaced by its successor', async () => {
  const { review, author, parent, complete } = await makeReview();
  await complete();
  await record(parent.id, 'plan');
  const first = await storeArtifact(baton, freshBytes(), { task: author.id });
  assert.equal(first.type, 'report');
  const { contentRef } = await done(upload(baton, baton.admin, freshBytes()), 201);
  const paper = await record(author.id, 'paper', { contentRef });
  assert.deepEqual(await reasonsOf(review.id), []);
  await done(baton.admin.post(`/artifacts/${paper.id}:purge-content`, { reason: 'x' }));
  assert.deepEqual((await refused(claim(review.id), 409, 'input_missing')).missing, [draft]);
  const second = await record(author.id, 'paper', { supersedesArtifactId: paper.id });
  assert.deepEqual(await reasonsOf(review.id), []);
  await record(author.id, 'photo', { supersedesArtifactId: second.id });
  assert.deepEqual((await refused(claim(review.id), 409, 'input_missing')).missing, [draft]);
});

test('an expired claim of a task whose input was purged meanwhile is not reclaimed', async () => {
  const { review, author, parent, complete } = await makeReview();
  await complete();
  await record(parent.id, 'plan');
  const { contentRef } = await done(upload(baton, baton.admin, freshBytes()), 201);
  const paper = await record(author.id, 'paper', { contentRef });
  const lapsed = await done(claim(review.id));
  await endClaimLease(baton, review.id);
  await done(baton.admin.post(`/artifacts/${paper.id}:purge-content`, { reason: 'x' }));
  const reclaim = () => worker.actor.post(`/claims/${lapsed.id}:reclaim`, { sessionId: worker.sessionId });
  assert.deepEqual((await refused(reclaim(), 409, 'input_missing')).missing, [draft]);
  await record(author.id, 'paper', { supersedesArtifactId: paper.id });
  assert.equal((await done(reclaim())).fencingToken, 2);
});

test('requirements and inputs must both be satisfied', async () => {
  await done(baton.admin.post('/capabilities', { name: 'reading' }), 201);
  const parent = await makeTask(baton);
  await makeType(
    'reading',
    [plan].map((input) => ({ ...input, required: true })),
  );
  const task = await makeTask(baton, { typeKey: 'reading', requirements: { capabilities: ['reading'] } });
  await relate(task.id, parent.id, 'parent');
  const codes = async () => (await reasonsOf(task.id)).map(({ code }: { code: string }) => code);
  assert.deepEqual(await codes(), ['not_eligible', 'input_missing', 'no_eligible_principal']);
  await refused(claim(task.id), 403, 'not_eligible');
  await record(parent.id, 'plan');
  assert.deepEqual(await codes(), ['not_eligible', 'no_eligible_principal']);
  await refused(claim(task.id), 403, 'not_eligible');
  assert.equal(await isAvailable(task.id), false);
});

test('a task that is migrated to a type with required inputs is held back by them', async () => {
  const from = await makeType('memo', []);
  const task = await makeTask(baton, { typeKey: 'memo' });
  await makeType('memo', [{ ...plan, required: true }]);
  assert.deepEqual(await reasonsOf(task.id), []);
  await done(baton.admin.post(`/task-types/${from.id}:migrate-tasks`, {}));
  assert.deepEqual((await refused(claim(task.id), 409, 'input_missing')).missing, [plan]);
  assert.equal(await isAvailable(task.id), false);
});

test('tasks.read alone permits reads of inputs of the specified task, optional ones too, but no other artifacts', async () => {
  const { review, author, parent, origin } = await makeReview();
  const reader = await baton.actor({ permissions: ['tasks.read'] });
  const bytes = freshBytes();
  const { contentRef } = await done(upload(baton, baton.admin, bytes), 201);
  const photo = await record(origin.id, 'photo', { contentRef });
  const paper = await record(author.id, 'paper');
  const older = await record(parent.id, 'plan');
  const newer = await record(parent.id, 'plan', { supersedesArtifactId: older.id });
  const other = await record(author.id, 'photo');
  const query = `?forTask=${review.publicId}`;
  for (const { id } of [photo, paper, newer])
    assert.equal((await done(reader.get(`/artifacts/${id}${query}`))).id, id);
  for (const { id } of [older, other])
    await refused(reader.get(`/artifacts/${id}${query}`), 403, 'permission_denied');
  await refused(reader.get(`/artifacts/${paper.id}?forTask=${author.id}`), 403, 'permission_denied');
  await refused(reader.get(`/artifacts/${paper.id}`), 403, 'permission_denied');
  await refused(reader.get(`/artifacts/${newId()}${query}`), 404, 'not_found');
  const read = await download(baton, reader, photo.id, query);
  assert.deepEqual([read.status, read.bytes], [200, bytes]);
  const [, event] = await eventsOf(baton, photo.id);
  assert.deepEqual(
    [event?.type, event?.payload['forTaskId'], event?.payload['taskId'], event?.actor_id],
    ['artifact.content_read', review.id, origin.id, reader.principalId],
  );
});

test('an artifact of a registered type is checked: metadata, media type, size', async () => {
  await done(
    baton.admin.post('/artifact-types', {
      key: 'chart',
      displayName: 'Chart',
      metadataSchema: { type: 'object', required: ['title'], properties: { title: { type: 'string' } } },
      mediaTypes: ['image/*', 'text/plain'],
      maxBytes: 100,
    }),
    201,
  );
  const create = (more: object) => baton.admin.post('/artifacts', { type: 'chart', name: 'Chart', ...more });
  const refOf = async (mediaType: string, size = 10) =>
    (await done(upload(baton, baton.admin, freshBytes(size), { 'content-type': mediaType }), 201)).contentRef;
  const metadata = { title: 'Growth' };
  const { errors } = await refused(create({ metadata: { title: 1 } }), 422, 'invalid_artifact_metadata');
  assert.equal(errors[0].path, '/title');
  await refused(create({}), 422, 'invalid_artifact_metadata');
  assert.deepEqual(
    await refused(create({ metadata, contentRef: await refOf('video/mp4') }), 422, 'media_type_not_allowed'),
    { mediaType: 'video/mp4', allowed: ['image/*', 'text/plain'] },
  );
  assert.deepEqual(
    await refused(create({ metadata, contentRef: await refOf('image/png', 101) }), 422, 'artifact_too_large'),
    { maxBytes: 100, sizeBytes: 101 },
  );
  for (const type of ['image/png', 'TEXT/plain; charset=utf-8']) {
    const made = await done(create({ metadata, contentRef: await refOf(type, 100) }), 201);
    assert.deepEqual([made.typeVersion, made.contentState], [1, 'stored']);
    assert.equal((await eventsOf(baton, made.id))[0]?.payload['typeVersion'], 1);
  }
  assert.equal((await done(create({ metadata }), 201)).typeVersion, 1);
  await done(
    baton.admin.post('/artifact-types', { key: 'chart', displayName: 'Chart', mediaTypes: ['*/*'] }),
    201,
  );
  assert.equal((await done(create({}), 201)).typeVersion, 2);
  assert.equal((await done(create({ type: 'chart@1' }), 201)).typeVersion, null);
});
