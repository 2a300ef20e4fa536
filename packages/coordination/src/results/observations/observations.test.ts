import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { newId } from '@baton/values/ids';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import {
  claimTask,
  done,
  eventsOf,
  makeTask,
  makeWorker,
  openSession,
  refused,
} from '../../testing/leases.ts';
import { until } from '../../testing/wait-until.ts';

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

const observe = (body: object, by = baton.admin) =>
  by.post('/observations', { kind: 'ci.passed', content: 'The tests pass.', ...body });
const invalid = async (body: object, field: string) =>
  assert.deepEqual(await refused(observe(body), 422, 'observation_invalid'), { field });

/**
 * The events of an observation. Polls until readers see them, because a transaction of another test may hold them back.
 */
async function readJournal(id: string) {
  let items: any[] = [];
  await until(async () => {
    ({ items } = await done(baton.admin.get(`/events?entityType=observation&entityId=${id}`)));
    return items.length > 0;
  });
  return items;
}

test('POST returns 201 with ids and time, and publishes the given fields', async () => {
  const { body, status } = await observe({});
  assert.equal(status, 201);
  const { id, eventId, recordedAt, ...rest } = body;
  assert.deepEqual(rest, { kind: 'ci.passed', deduplicated: false });
  const items = await readJournal(id);
  assert.equal(items.length, 1);
  const [{ id: written, type, entityType, schemaVersion, actorId, payload, workspaceId }] = items;
  assert.deepEqual(
    { written, type, entityType, schemaVersion, actorId, workspaceId },
    {
      written: eventId,
      type: 'observation.recorded',
      entityType: 'observation',
      schemaVersion: 1,
      actorId: baton.admin.principalId,
      workspaceId: null,
    },
  );
  assert.deepEqual(payload, { kind: 'ci.passed', content: 'The tests pass.', observedAt: recordedAt });
});

test('every optional field is in the payload when it was given', async () => {
  const { actor, sessionId } = await makeWorker(baton);
  const workspace = await done(baton.admin.post('/workspaces', { slug: 'lab', name: 'Lab' }), 201);
  const task = await makeTask(baton, { workspaceId: workspace.id });
  const { id: claimId, fencingToken } = await claimTask({ actor, sessionId }, task.id);
  const run = await done(actor.post(`/tasks/${task.id}:start-run`, { claimId, fencingToken }), 201);
  const first = await done(observe({}), 201);
  const given = {
    source: 'ci/main',
    dedupKey: 'build 4711',
    externalRef: { system: 'ci', id: '4711', url: 'https://ci.example/4711' },
    assertions: [
      {
        assert: 'entity',
        entity: { key: 'repo:baton', type: 'repository', title: 'Baton', properties: { stars: 1 } },
      },
      { assert: 'fact', fact: { subject: 'repo:baton', predicate: 'builds', object: true, confidence: 0.5 } },
    ],
    data: { build: 4711 },
    runId: run.id,
    workspaceId: workspace.id,
    supersedes: first.eventId,
  };
  const sent = {
    ...given,
    task: task.publicId.toLowerCase(),
    sessionId,
    observedAt: '2026-11-22T10:00:00+02:00',
  };
  const { id } = await done(observe(sent, actor), 201);
  const [event] = await eventsOf(baton, id);
  assert.deepEqual(event?.payload, {
    kind: 'ci.passed',
    content: 'The tests pass.',
    ...given,
    taskId: task.id,
    observedAt: '2026-11-22T08:00:00.000Z',
  });
  assert.equal(event?.session_id, sessionId);
  // The event for a task's observation belongs to the workspace of the task.
  const other = await done(observe({ task: task.id }), 201);
  const items = await readJournal(other.id);
  assert.equal(items[0].workspaceId, workspace.id);
});

test('the same source and key of the same author returns 200 with the first ids, and writes nothing', async () => {
  const key = { source: 'ci', dedupKey: newId() };
  const first = await done(observe(key), 201);
  const again = await observe({ ...key, kind: 'ci.failed', content: 'Something else.', task: newId() });
  assert.deepEqual([again.status, again.body], [200, { ...first, deduplicated: true }]);
  assert.equal((await eventsOf(baton, first.id)).length, 1);
  const other = await baton.actor();
  const theirs = await done(observe(key, other), 201);
  assert.notEqual(theirs.id, first.id);
  for (const different of [
    { ...key, source: 'ci2' },
    { ...key, dedupKey: newId() },
  ])
    assert.equal((await done(observe(different), 201)).deduplicated, false);
  await done(observe(key, baton.otherAdmin), 201);
});

test('a value out of range returns 422 observation_invalid with the field', async () => {
  for (const kind of ['', 'Ci', '.ci', 'a'.repeat(129), 'a b']) await invalid({ kind }, 'kind');
  for (const content of ['', ' \n', 'x'.repeat(65_537)]) await invalid({ content }, 'content');
  await invalid({ data: Object.fromEntries(Array.from({ length: 101 }, (_, n) => [`k${n}`, n])) }, 'data');
  for (const source of ['', 'CI', 's'.repeat(129)]) await invalid({ source }, 'source');
  for (const dedupKey of ['', ' ', 'k'.repeat(513)]) await invalid({ source: 'ci', dedupKey }, 'dedupKey');
  await invalid({ dedupKey: 'k' }, 'source');
  await invalid({ externalRef: { system: 'ci', id: '1' } }, 'source');
  for (const observedAt of [
    '2026-11-22T10:00:00',
    '2026-11-22',
    'yesterday',
    '2026-13-22T10:00:00Z',
    '0001-01-01T00:00:00+10:00',
  ])
    await invalid({ observedAt }, 'observedAt');
  const withRef = (externalRef: object) => ({
    source: 'ci',
    externalRef: { system: 'ci', id: '1', ...externalRef },
  });
  await invalid(withRef({ system: 's'.repeat(129) }), 'externalRef.system');
  await invalid(withRef({ id: 'i'.repeat(513) }), 'externalRef.id');
  await invalid(withRef({ url: 'u'.repeat(2049) }), 'externalRef.url');
  const fact = { subject: 'a:b', predicate: 'is', object: 'x' };
  const asserting = (...assertions: object[]) => ({ assertions });
  await invalid(asserting(...Array(201).fill({ assert: 'fact', fact })), 'assertions');
  await invalid(
    asserting(...Array(40).fill({ assert: 'fact', fact: { ...fact, object: 'x'.repeat(1999) } })),
    'assertions',
  );
  for (const subject of ['a', 'a:', ':b', 'A:b', 'a:b c', `a:${'b'.repeat(255)}`])
    await invalid(asserting({ assert: 'fact', fact: { ...fact, subject } }), 'assertions[0].fact.subject');
  for (const confidence of [-0.1, 1.1])
    await invalid(
      asserting({ assert: 'fact', fact }, { assert: 'fact', fact: { ...fact, confidence } }),
      'assertions[1].fact.confidence',
    );
  await invalid(asserting({ assert: 'entity', entity: { key: 'x', type: 't' } }), 'assertions[0].entity.key');
  await invalid(
    asserting({ assert: 'fact', fact }, { assert: 'opinion', opinion: {} }),
    'assertions[1].assert',
  );
  await done(
    observe({
      kind: 'a'.repeat(128),
      content: 'x'.repeat(65_536),
      source: 's'.repeat(128),
      dedupKey: 'k'.repeat(512),
      data: Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`k${n}`, n])),
      externalRef: { system: 's'.repeat(128), id: 'i'.repeat(512), url: 'u'.repeat(2048) },
      assertions: Array(200).fill({ assert: 'fact', fact: { ...fact, confidence: 1 } }),
    }),
    201,
  );
});

test('an unknown field, a wrong type and a missing field return 400, an invalid document 422', async () => {
  for (const body of [
    { zebra: 1 },
    { content: 1 },
    { kind: undefined },
    { content: undefined },
    { assertions: [{ assert: 1 }] },
    { assertions: [{}] },
    { assertions: [{ assert: 'fact', entity: { key: 'a:b', type: 't' } }] },
  ])
    await refused(observe(body), 400, 'invalid_request');
  await refused(observe({ data: [] }), 422, 'invalid_document');
  await refused(observe({ data: { text: 'x'.repeat(65_536) } }), 422, 'payload_too_large');
  await refused(
    observe({ data: JSON.parse(`${'{"a":'.repeat(20)}{}${'}'.repeat(20)}`) }),
    422,
    'payload_too_deep',
  );
});

test('suspected secrets are refused, in content, data, assertions and references', async () => {
  const secret = `password=${'x'.repeat(20)}`;
  const match = 'secret_assignment';
  for (const [body, details] of [
    [{ content: secret }, { field: 'content', match }],
    [{ data: { note: secret } }, { field: 'data', match }],
    [{ data: { a: { api_key: 'x' } } }, { field: 'data', path: '/a/api_key' }],
    [
      { source: 'ci', externalRef: { system: 'ci', id: '1', url: `https://ci.example/?${secret}` } },
      { field: 'externalRef', match },
    ],
    [
      { assertions: [{ assert: 'fact', fact: { subject: 'a:b', predicate: 'is', object: secret } }] },
      { field: 'assertions', match },
    ],
  ] as const)
    assert.deepEqual(await refused(observe(body), 422, 'secret_material_rejected'), details);
});

test("its references must exist in the tenant, and the session must be the caller's", async () => {
  const { actor, sessionId } = await makeWorker(baton);
  const task = await makeTask(baton);
  const { id: claimId, fencingToken } = await claimTask({ actor, sessionId }, task.id);
  const run = await done(actor.post(`/tasks/${task.id}:start-run`, { claimId, fencingToken }), 201);
  const { eventId } = await done(observe({}), 201);
  for (const body of [
    { task: newId() },
    { runId: newId() },
    { workspaceId: newId() },
    { sessionId: newId() },
    { supersedes: newId() },
    { sessionId },
  ])
    await refused(observe(body), 404, 'not_found');
  for (const body of [{ task: task.id }, { runId: run.id }, { supersedes: eventId }])
    await refused(observe(body, baton.otherAdmin), 404, 'not_found');
  await done(observe({ sessionId: await openSession(actor) }, actor), 201);
  const other = await makeTask(baton);
  await invalid({ task: other.id, runId: run.id }, 'runId');
});

test('it requires observations.write, and tasks.read to refer to a task or a run', async () => {
  const writer = await baton.actor({ permissions: ['observations.write'] });
  await done(observe({}, writer), 201);
  const task = await makeTask(baton);
  for (const body of [
    { task: task.id },
    { task: newId() },
    { runId: newId() },
    { task: newId(), kind: 'No' },
  ])
    assert.deepEqual(await refused(observe(body, writer), 403, 'permission_denied'), {
      required: ['tasks.read'],
    });
  const reader = await baton.actor({ permissions: ['tasks.read'] });
  await refused(observe({ task: newId() }, reader), 403, 'permission_denied');
});

test('an observation is evidence of a task', async () => {
  const { id } = await done(observe({}), 201);
  const evidence = [{ kind: 'observation', observationId: id }];
  await makeTask(baton, { evidence });
  const absent = { title: 'wanted', evidence: [{ kind: 'observation', observationId: newId() }] };
  await refused(baton.admin.post('/tasks', absent), 404, 'not_found');
  await refused(baton.otherAdmin.post('/tasks', { title: 'wanted', evidence }), 404, 'not_found');
});
