import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { claimTask, done, eventsOf, makeTask, makeWorker, refused } from '../../testing/leases.ts';

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

const create = (body: object, by = baton.admin) =>
  by.post('/artifacts', { type: 'report', name: 'Findings', ...body });

async function makeRun() {
  const { actor, sessionId } = await makeWorker(baton);
  const task = await makeTask(baton);
  const { id: claimId, fencingToken } = await claimTask({ actor, sessionId }, task.id);
  return { task, run: await done(actor.post(`/tasks/${task.id}:start-run`, { claimId, fencingToken }), 201) };
}

test('POST returns 201 with the whole record and writes artifact.created v2', async () => {
  const task = await makeTask(baton);
  const sent = {
    type: 'report',
    name: 'Findings',
    uri: 'https://git.example/findings.md',
    content: { lines: [1, 2] },
    metadata: { pages: 3 },
  };
  const { id, createdAt, ...rest } = await done(create({ ...sent, task: task.publicId.toLowerCase() }), 201);
  assert.match(createdAt, /Z$/);
  assert.deepEqual(rest, {
    ...sent,
    tenantId: baton.tenantId,
    createdByPrincipalId: baton.admin.principalId,
    workspaceId: null,
    taskId: task.id,
    runId: null,
    supersedesArtifactId: null,
    contentState: 'none',
    sizeBytes: null,
    mediaType: null,
    sha256: null,
    typeVersion: null,
  });
  const [event] = await eventsOf(baton, id);
  assert.deepEqual(
    [event?.type, event?.schema_version, event?.actor_id],
    ['artifact.created', 2, baton.admin.principalId],
  );
  assert.deepEqual(event?.payload, {
    type: 'report',
    name: 'Findings',
    taskId: task.id,
    runId: null,
    uri: 'https://git.example/findings.md',
    supersedesArtifactId: null,
    sizeBytes: null,
    mediaType: null,
    sha256: null,
    contentState: 'none',
    typeVersion: null,
  });
  assert.deepEqual(await done(baton.admin.get(`/artifacts/${id}`)), { id, createdAt, ...rest });
});

test('types that prove findings of the core are recorded only by the core', async () => {
  const task = await makeTask(baton);
  const agent = await baton.actor({ permissions: ['artifacts.write', 'tasks.read'] });
  const content = {
    taskId: task.id,
    attempt: 1,
    results: [{ key: 'signed', kind: 'human', status: 'passed' }],
  };
  for (const by of [agent, baton.admin])
    for (const type of ['verification', ' verification', 'skill_result']) {
      const details = await refused(create({ type, task: task.id, content }, by), 422, 'invalid_type');
      assert.deepEqual(details, { reserved: ['verification', 'skill_result'] });
    }
});

test('without a task, content and metadata it belongs to the tenant', async () => {
  const artifact = await done(create({}), 201);
  const { taskId, runId, workspaceId, uri, content, metadata } = artifact;
  assert.deepEqual([taskId, runId, workspaceId, uri, content, metadata], [null, null, null, null, null, {}]);
});

test('runId without a task uses the task of the run', async () => {
  const { task, run } = await makeRun();
  const artifact = await done(create({ runId: run.id }), 201);
  assert.deepEqual([artifact.taskId, artifact.runId], [task.id, run.id]);
});

test('a revision is a new record that references the one it supersedes', async () => {
  const task = await makeTask(baton);
  const first = await done(create({ task: task.id }), 201);
  const second = await done(create({ task: task.id, supersedesArtifactId: first.id }), 201);
  assert.equal(second.supersedesArtifactId, first.id);
  assert.equal((await eventsOf(baton, second.id))[0]?.payload['supersedesArtifactId'], first.id);
  assert.deepEqual(await done(baton.admin.get(`/artifacts/${first.id}`)), first);
});

test('refuses in the order type, name, content, superseded, task, run, mismatch, workspace', async () => {
  const [task, other] = [await makeTask(baton), await makeTask(baton)];
  const { run } = await makeRun();
  const elsewhere = await done(create({ task: other.id }), 201);
  const wrong = {
    type: ' ',
    name: '',
    contentRef: 'cref_x',
    uri: 'https://git.example/',
    supersedesArtifactId: newId(),
    task: newId(),
    runId: newId(),
    workspaceId: newId(),
  };
  const next = async (status: number, code: string, mended: object) => {
    const details = await refused(create(wrong), status, code);
    Object.assign(wrong, mended);
    return details;
  };
  assert.deepEqual(await next(422, 'invalid_type', { type: 'report' }), { maxLength: 200 });
  assert.deepEqual(await next(422, 'invalid_name', { name: 'Findings' }), { maxLength: 500 });
  await next(422, 'invalid_artifact_content', { contentRef: null });
  const missing = wrong.supersedesArtifactId;
  assert.deepEqual(await next(404, 'not_found', { supersedesArtifactId: elsewhere.id }), {
    artifactId: missing,
  });
  await next(404, 'not_found', { task: task.id });
  await next(404, 'not_found', { runId: run.id });
  assert.deepEqual(await next(422, 'artifact_mismatch', { runId: null }), { field: 'runId' });
  assert.deepEqual(await next(422, 'artifact_mismatch', { supersedesArtifactId: null }), {
    field: 'supersedesArtifactId',
  });
  assert.deepEqual(await next(422, 'artifact_mismatch', { task: null }), { field: 'workspaceId' });
  const { workspaceId } = wrong;
  assert.deepEqual(await next(404, 'not_found', { workspaceId: null }), { workspaceId });
  await done(create(wrong), 201);
});

test('a type or name that is too long, and a content reference with uri or content, return 422', async () => {
  await refused(create({ type: 'x'.repeat(201) }), 422, 'invalid_type');
  await refused(create({ name: 'x'.repeat(501) }), 422, 'invalid_name');
  await done(create({ type: 'x'.repeat(200), name: 'x'.repeat(500), uri: `u:${'x'.repeat(1998)}` }), 201);
  await refused(create({ uri: 'x'.repeat(2001) }), 400, 'invalid_request');
  for (const beside of [{ uri: 'https://git.example/' }, { content: {} }])
    await refused(create({ contentRef: 'cref_x', ...beside }), 422, 'invalid_artifact_content');
  await refused(create({ contentRef: 'cref_x' }), 422, 'content_ref_not_found');
  await refused(create({ contentRef: `cref_${newId()}` }), 422, 'content_ref_not_found');
});

test('documents are validated: schema, size, depth, secrets', async () => {
  for (const field of ['content', 'metadata']) {
    assert.deepEqual(await refused(create({ [field]: [] }), 422, 'invalid_document'), { field });
    await refused(create({ [field]: { text: 'x'.repeat(65_536) } }), 422, 'payload_too_large');
    const deep = JSON.parse(`${'{"a":'.repeat(20)}{}${'}'.repeat(20)}`);
    await refused(create({ [field]: deep }), 422, 'payload_too_deep');
    const details = await refused(
      create({ [field]: { a: { api_key: 'x' } } }),
      422,
      'secret_material_rejected',
    );
    assert.deepEqual(details, { field, path: '/a/api_key' });
  }
  const secret = `password=${'x'.repeat(20)}`;
  for (const field of ['type', 'name', 'uri'])
    assert.deepEqual(await refused(create({ [field]: secret }), 422, 'secret_material_rejected'), {
      field,
      match: 'secret_assignment',
    });
});

test('without artifacts.write no response reveals ids: 403 before every lookup', async () => {
  const reader = await baton.actor({ permissions: ['artifacts.read', 'tasks.read'] });
  const task = await makeTask(baton);
  for (const id of [task.id, newId()])
    assert.deepEqual(await refused(create({ task: id, type: '' }, reader), 403, 'permission_denied'), {
      required: ['artifacts.write'],
    });
});

test("another tenant's artifact, task and run return 404", async () => {
  const { task, run } = await makeRun();
  const artifact = await done(create({}), 201);
  await refused(baton.otherAdmin.get(`/artifacts/${artifact.id}`), 404, 'not_found');
  for (const body of [{ task: task.id }, { runId: run.id }, { supersedesArtifactId: artifact.id }])
    await refused(create(body, baton.otherAdmin), 404, 'not_found');
});

test('GET lists newest first in pages, by task, run, type and workspace', async () => {
  const { task, run } = await makeRun();
  const made = [];
  for (const body of [{}, { type: 'log' }, { runId: run.id }])
    made.unshift(await done(create({ task: task.id, ...body }), 201));
  const list = async (query: string) => done(baton.admin.get(`/artifacts?${query}`));
  assert.deepEqual(await list(`taskId=${task.id}`), { items: made, nextCursor: null });
  const first = await list(`taskId=${task.id}&limit=2`);
  assert.deepEqual(first.items, made.slice(0, 2));
  const second = await list(`taskId=${task.id}&limit=2&cursor=${first.nextCursor}`);
  assert.deepEqual(second, { items: made.slice(2), nextCursor: null });
  assert.deepEqual((await list(`runId=${run.id}`)).items, made.slice(0, 1));
  assert.deepEqual((await list(`taskId=${task.id}&type=log`)).items, made.slice(1, 2));
  assert.deepEqual((await list(`workspaceId=${newId()}`)).items, []);
  assert.deepEqual((await done(baton.otherAdmin.get('/artifacts'))).items, []);
  await refused(baton.admin.get(`/tasks?cursor=${first.nextCursor}`), 422, 'invalid_cursor');
});

test('the store refuses every change to a record, and its removal', async () => {
  const { id } = await done(create({}), 201);
  for (const statement of [
    sql`update artifacts set name = 'other' where id = ${id}`,
    sql`update artifacts set metadata = '{}' where id = ${id}`,
    sql`delete from artifacts where id = ${id}`,
  ])
    await assert.rejects(baton.pool.run(statement), { code: '23001' });
});
