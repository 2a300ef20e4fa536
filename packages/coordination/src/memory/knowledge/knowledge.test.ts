import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { assertTookLess } from '@baton/testing/depth';
import { newId } from '@baton/values/ids';
import { type Actor, sendRequest, type TestCoordination } from '../../testing/coordination.ts';
import { done, refused } from '../../testing/leases.ts';
import { startWithMemory, type WithMemory } from '../../testing/memory/contexts.ts';
import { documentOf, knowledgeEvents, largeSnapshotOf, snapshotOf } from '../../testing/memory/knowledge.ts';
import type { TestMemory } from '../../testing/memory/memory-service.ts';
import { makeWorkspace } from '../../testing/organisation/workspaces.ts';
import { until } from '../../testing/wait-until.ts';

let started: WithMemory;
let baton: TestCoordination;
let memory: TestMemory;
let admin: Actor;
/** A process that waits at most one second for memory and for another write. */
let hasty: { url: string; close(): Promise<void> };
before(async () => {
  started = await startWithMemory();
  ({ baton, memory } = started);
  ({ admin } = baton);
  hasty = await baton.another({
    CP_CONTEXT_RECONCILE_TIMEOUT_SECONDS: '1',
    CP_CONTEXT_INGEST_TIMEOUT_SECONDS: '1',
    CP_IDEMPOTENCY_WAIT_TIMEOUT_SECONDS: '1',
  });
});
afterEach(async () => {
  memory.behave({});
  assert.deepEqual(await baton.pool.rows(sql`select id, kind from knowledge_intents`), []);
});
after(async () => {
  await hasty.close();
  await started.close();
});

const hastily = (path: string, body: object, headers: Record<string, string> = {}) =>
  sendRequest(`${hasty.url}/api/v1${path}`, 'POST', { token: admin.token, body, headers });
const treeOf = (rootId: string) => `tenant:${baton.tenantId}:ws:${rootId}`;
const eventsIn = (id: string) => knowledgeEvents(baton, id);

describe('a snapshot', () => {
  test('is compared by memory, under a derived namespace and scopes, and its event lists the changes', async () => {
    const root = await makeWorkspace(baton);
    const child = await makeWorkspace(baton, { parentId: root.id });
    const body = snapshotOf(child.id, { pack: 'platform@1', scope: 'eu' });
    const headers = { 'x-run-id': 'run-of-the-test' };
    const answer = await done(admin.post('/knowledge/snapshots', body, headers));
    const { stateToken } = answer;
    const opened = body.entities.map(({ kind, key }) => ({ kind, key }));
    const counters = { opened: 2, changed: 0, closed: 0 };
    const changes = { opened, changed: [], closed: [] };
    assert.deepEqual(answer, { duplicate: false, dryRun: false, stateToken, changes, counters });
    const call = memory.calls.at(-1) ?? assert.fail();
    const { workspaceId: _, ...sent } = body;
    assert.deepEqual(call.body, {
      ...sent,
      observedAt: '2026-03-02T09:00:00.000Z',
      namespace: treeOf(root.id),
      scopes: [`workspace:${child.id}`],
      dryRun: false,
    });
    assert.equal(call.headers['x-run-id'], 'run-of-the-test');
    const about = {
      snapshotId: body.snapshotId,
      pack: 'platform@1',
      source: 'cluster-a',
      observedAt: '2026-03-02T09:00:00.000Z',
      workspaceId: child.id,
      rootWorkspaceId: root.id,
      namespace: treeOf(root.id),
    };
    assert.deepEqual(
      (await eventsIn(child.id)).map(({ type, actor_id, payload }) => [type, actor_id, payload]),
      [
        [
          'knowledge.snapshot_reconciled',
          admin.principalId,
          { ...about, entityCount: 2, relationCount: 1, duplicate: false, counters },
        ],
        [
          'knowledge.changed',
          admin.principalId,
          {
            ...about,
            changes: opened.map((one) => ({ ...one, change: 'opened' })),
            truncated: false,
            counters,
          },
        ],
      ],
    );
  });

  test('that is repeated changes nothing, and one without changes has an event without changes', async () => {
    const { id } = await makeWorkspace(baton);
    const body = snapshotOf(id);
    await done(admin.post('/knowledge/snapshots', body));
    const again = await done(admin.post('/knowledge/snapshots', body));
    assert.equal(again.duplicate, true);
    await done(admin.post('/knowledge/snapshots', { ...body, snapshotId: newId() }));
    const types = (await eventsIn(id)).map(({ type, payload }) => [type, payload['duplicate']]);
    assert.deepEqual(types, [
      ['knowledge.snapshot_reconciled', false],
      ['knowledge.changed', undefined],
      ['knowledge.snapshot_reconciled', true],
      ['knowledge.snapshot_reconciled', false],
    ]);
  });

  test('whose response was lost has an event with its changes when it is repeated', async () => {
    const { id } = await makeWorkspace(baton);
    const body = snapshotOf(id);
    memory.behave({ losesAnswers: true });
    await refused(admin.post('/knowledge/snapshots', body), 502, 'memory_unavailable');
    memory.behave({});
    assert.equal((await done(admin.post('/knowledge/snapshots', body))).duplicate, true);
    const told = (await eventsIn(id)).map(({ type, payload }) => [type, payload['duplicate']]);
    assert.deepEqual(told, [
      ['knowledge.snapshot_reconciled', false],
      ['knowledge.changed', undefined],
    ]);
  });

  test('that changes more than 200 entities lists 200 of them', async () => {
    const { id } = await makeWorkspace(baton);
    const entities = Array.from({ length: 201 }, (_, n) => ({ kind: 'pod', key: `pod:${n}` }));
    await done(admin.post('/knowledge/snapshots', snapshotOf(id, { entities, relations: [] })));
    const { payload } = (await eventsIn(id))[1] ?? assert.fail();
    assert.deepEqual([(payload['changes'] as []).length, payload['truncated']], [200, true]);
  });

  test('is previewed: its changes and the state; nothing is written', async () => {
    const { id } = await makeWorkspace(baton);
    const preview = await done(admin.post('/knowledge/snapshots:preview', snapshotOf(id)));
    assert.deepEqual([preview.dryRun, preview.changes.opened.length], [true, 2]);
    assert.deepEqual([memory.knowledge.entities(treeOf(id)), await eventsIn(id)], [[], []]);
    const { stateToken: expectedState } = preview;
    await done(admin.post('/knowledge/snapshots', snapshotOf(id, { expectedState })));
    const stale = admin.post('/knowledge/snapshots', snapshotOf(id, { expectedState }));
    await refused(stale, 409, 'snapshot_stale');
    for (const body of [
      '{"changes":{}}',
      '{"dryRun":true,"changes":{}}',
      '{"stateToken":"a","changes":{}}',
    ]) {
      memory.behave({ answer: { status: 200, body } });
      const details = await refused(
        admin.post('/knowledge/snapshots:preview', snapshotOf(id)),
        502,
        'memory_unavailable',
      );
      assert.deepEqual(details, { memoryStatus: 200, retryable: false });
    }
  });

  test('is refused in the documented order', async () => {
    const { id } = await makeWorkspace(baton);
    const send = (actor: Actor, more: object, path = '/knowledge/snapshots') =>
      actor.post(path, snapshotOf(id, more));
    for (const wrong of [
      { namespace: 'tenant:x' },
      { scopes: [] },
      { source: '' },
      { observedAt: '2026-03-02T09:00:00' },
      { entities: [1] },
      { entities: Array(10_001).fill({}), relations: Array(10_000).fill({}) },
    ])
      await refused(send(admin, wrong), 400, 'invalid_request');
    const reader = await baton.actor({ permissions: ['events.read'] });
    await refused(send(reader, { workspaceId: newId() }), 403, 'permission_denied');
    await refused(send(admin, { workspaceId: newId() }), 404, 'not_found');
    await refused(send(baton.otherAdmin, {}), 404, 'not_found');
    const archived = await makeWorkspace(baton);
    await done(admin.post(`/workspaces/${archived.id}:archive`));
    const preview = (more: object) => send(admin, more, '/knowledge/snapshots:preview');
    await refused(preview({ workspaceId: newId() }), 404, 'not_found');
    await refused(preview({ workspaceId: archived.id }), 422, 'workspace_archived');
    await refused(preview({ entities: [{ key: 'a' }] }), 422, 'snapshot_invalid');
    await refused(send(admin, { workspaceId: archived.id }), 422, 'workspace_archived');
    let deep: object = {};
    for (let level = 0; level < 21; level += 1) deep = { deep };
    const details = await refused(send(admin, { entities: [{}, deep] }), 422, 'snapshot_invalid');
    assert.deepEqual(details, { field: 'entities[1]', maxDepth: 20 });
    const long = [{ kind: 'service', key: 'x'.repeat(513) }];
    assert.deepEqual(await refused(send(admin, { entities: long }), 422, 'snapshot_invalid'), {
      field: 'entities[0].key',
      maxLength: 512,
    });
    const rounded = `{"kind":"a","key":"b","n":9007199254740993}`;
    const unsure = JSON.stringify(snapshotOf(id, { entities: [] })).replace(
      '"entities":[]',
      `"entities":[${rounded}]`,
    );
    const { status } = await baton.request('POST', '/api/v1/knowledge/snapshots', {
      token: admin.token,
      body: unsure,
    });
    assert.equal(status, 422);
    await refused(send(admin, { entities: [{ key: 'a' }] }), 422, 'snapshot_invalid');
    await done(send(admin, {}));
    const older = { observedAt: '2026-01-01T00:00:00Z' };
    for (const path of ['/knowledge/snapshots', '/knowledge/snapshots:preview'])
      await refused(send(admin, older, path), 409, 'snapshot_stale');
    const unstorable = `{"workspaceId":"${id}","source":"\\u0000"}`;
    const raw = await baton.request('POST', '/api/v1/knowledge/snapshots', {
      token: admin.token,
      body: unstorable,
    });
    assert.equal(raw.status, 400);
  });

  test('that memory refuses returns 502, retryable if it may be accepted later, and leaves no event or intent', async () => {
    const { id } = await makeWorkspace(baton);
    const send = () => admin.post('/knowledge/snapshots', snapshotOf(id));
    for (const [behaviour, memoryStatus, retryable] of [
      [{ hangsUp: true }, null, true],
      [{ losesAnswers: true }, null, true],
      [{ answer: { status: 503 } }, 503, true],
      [{ answer: { status: 404 } }, 404, false],
      [{ answer: { status: 200, body: '{}' } }, 200, false],
      [{ answer: { status: 200, body: '{"dryRun":true,"changes":{}}' } }, 200, false],
    ] as const) {
      memory.behave(behaviour);
      const details = await refused(send(), 502, 'memory_unavailable');
      assert.deepEqual(details, { memoryStatus, retryable });
    }
    memory.behave({ delayMs: 60_000 });
    const details = await refused(hastily('/knowledge/snapshots', snapshotOf(id)), 502, 'memory_unavailable');
    assert.deepEqual(details, { memoryStatus: null, retryable: true });
    assert.deepEqual(await eventsIn(id), []);
  });

  test('of 8 MiB is accepted, and a larger one is not', async () => {
    const { id } = await makeWorkspace(baton);
    const body = largeSnapshotOf(id, 8);
    assert.ok(JSON.stringify(body).length > 8_000_000);
    await done(admin.post('/knowledge/snapshots', body));
    const more = { ...body, entities: [...body.entities, ...body.entities] };
    await refused(admin.post('/knowledge/snapshots', more), 413, 'request_too_large');
    assert.equal(memory.knowledge.entities(treeOf(id)).length, 128);
  });
});

describe('a body of more than 1 MiB', () => {
  const bytes = 1_200_000;

  test("holds at most 250,000 values; the content of a text doesn't count", async () => {
    const { id } = await makeWorkspace(baton);
    const send = (entities: string) =>
      admin.post(
        '/knowledge/snapshots',
        JSON.stringify(snapshotOf(id, { entities: 'X' })).replace('"X"', entities),
      );
    const crowded = await send(`[{"kind":"a","key":"b","list":[${'0    ,'.repeat(249_990)}0]}]`);
    assert.equal(crowded.body.error.details.errors[0].message, 'The body holds more than 250000 values');
    const text = `${'\\"'.repeat(2)}${',[{'.repeat(20_000)}`;
    const many = Array.from({ length: 20 }, () => `{"kind":"a","key":"b","text":"${text}"}`);
    assert.equal((await send(`[${many.join(`,${' '.repeat(1000)}`)}]`)).status, 200);
  });

  test('is recognized by its bytes when it is repeated under a key', async () => {
    const { id } = await makeWorkspace(baton);
    const headers = { 'idempotency-key': newId() };
    const body = documentOf(id, { chunks: [{ text: 'x'.repeat(bytes) }] });
    await done(admin.post('/knowledge/documents', body, headers));
    const again = await admin.post('/knowledge/documents', body, headers);
    assert.equal(again.headers.get('idempotency-replayed'), 'true');
    const other = { ...body, chunks: [{ text: 'y'.repeat(bytes) }] };
    await refused(admin.post('/knowledge/documents', other, headers), 409, 'idempotency_key_reused');
  });

  test('without a declared length is accepted too', async () => {
    const { id } = await makeWorkspace(baton);
    const body = JSON.stringify(largeSnapshotOf(id, 2));
    const { status } = await fetch(`${baton.url}/api/v1/knowledge/snapshots`, {
      method: 'POST',
      headers: { authorization: `Bearer ${admin.token}`, 'content-type': 'application/json' },
      body: new Blob([body]).stream(),
      duplex: 'half',
    });
    assert.equal(status, 200);
  });
});

describe('a document', () => {
  test('is stored in place of the one with its key, and its event omits the text', async () => {
    const { id } = await makeWorkspace(baton);
    const links = [{ kind: 'service', key: 'service:billing', rel: 'describes' }];
    const body = documentOf(id, { links, meta: { author: 'a' } });
    assert.deepEqual(await done(admin.post('/knowledge/documents', body)), {
      naturalKey: 'wiki/billing',
      type: 'document',
      chunkCount: 1,
      linkCount: 1,
      documentId: 'doc-wiki/billing',
    });
    const { workspaceId: _, ...sent } = body;
    const place = { namespace: treeOf(id), scopes: [`workspace:${id}`] };
    assert.deepEqual(memory.knowledge.documents(treeOf(id)), [{ ...sent, type: 'document', ...place }]);
    await done(admin.post('/knowledge/documents', documentOf(id, { title: 'Later', type: 'note' })));
    assert.equal(memory.knowledge.documents(treeOf(id)).length, 1);
    const [first] = await eventsIn(id);
    assert.deepEqual(
      [first?.type, first?.payload],
      [
        'knowledge.document_stored',
        {
          naturalKey: 'wiki/billing',
          title: 'Billing',
          type: 'document',
          chunkCount: 1,
          linkCount: 1,
          workspaceId: id,
          rootWorkspaceId: id,
          namespace: treeOf(id),
        },
      ],
    );
  });

  test('is refused: form, right, workspace, memory', async () => {
    const { id } = await makeWorkspace(baton);
    const send = (actor: Actor, more: object) => actor.post('/knowledge/documents', documentOf(id, more));
    for (const wrong of [
      { chunks: [] },
      { naturalKey: 'x'.repeat(513) },
      { links: Array(201).fill({ kind: 'a', key: 'b', rel: 'c' }) },
      { chunks: [{ text: 'a', heading: 'x'.repeat(501) }] },
    ])
      await refused(send(admin, wrong), 400, 'invalid_request');
    const reader = await baton.actor({ permissions: ['events.read'] });
    await refused(send(reader, {}), 403, 'permission_denied');
    await refused(send(admin, { workspaceId: newId() }), 404, 'not_found');
    const archived = await makeWorkspace(baton);
    await done(admin.post(`/workspaces/${archived.id}:archive`));
    await refused(send(admin, { workspaceId: archived.id }), 422, 'workspace_archived');
    await refused(send(admin, { naturalKey: ' ' }), 422, 'document_invalid');
    const meta = { long: 'x'.repeat(65_536) };
    assert.equal((await refused(send(admin, { meta }), 422, 'document_invalid'))['field'], 'meta');
    memory.behave({ answer: { status: 500 } });
    await refused(send(admin, {}), 502, 'memory_unavailable');
  });
});

describe('a write with an Idempotency-Key', () => {
  test('is returned from the store, without another call to memory', async () => {
    const { id } = await makeWorkspace(baton);
    const headers = { 'idempotency-key': newId() };
    const body = snapshotOf(id);
    const first = await admin.post('/knowledge/snapshots', body, headers);
    const asked = memory.calls.length;
    memory.behave({ hangsUp: true });
    const again = await admin.post('/knowledge/snapshots', body, headers);
    assert.deepEqual([again.status, again.body], [200, first.body]);
    assert.equal(again.headers.get('idempotency-replayed'), 'true');
    assert.equal(memory.calls.length, asked);
    const other = admin.post('/knowledge/snapshots', snapshotOf(id), headers);
    await refused(other, 409, 'idempotency_key_reused');
    assert.equal((await eventsIn(id)).length, 2);
  });

  test('has one effect under concurrent repetitions', async () => {
    const { id } = await makeWorkspace(baton);
    const headers = { 'idempotency-key': newId() };
    const body = documentOf(id);
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => admin.post('/knowledge/documents', body, headers)),
    );
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
    assert.equal((await eventsIn(id)).length, 1);
  });

  test('leaves its key free when it failed', async () => {
    const { id } = await makeWorkspace(baton);
    const headers = { 'idempotency-key': newId() };
    memory.behave({ hangsUp: true });
    await refused(admin.post('/knowledge/documents', documentOf(id), headers), 502, 'memory_unavailable');
    memory.behave({});
    await done(admin.post('/knowledge/documents', documentOf(id), headers));
  });
});

describe('writes of the same object', () => {
  test('are serialized, so that the journal and memory end in the same state', async () => {
    const { id } = await makeWorkspace(baton);
    memory.behave({ delayMs: 50 });
    const titles = ['one', 'two', 'three', 'four'];
    const from = memory.calls.length;
    await Promise.all(
      titles.map((title) => done(admin.post('/knowledge/documents', documentOf(id, { title })))),
    );
    const told = (await eventsIn(id)).map(({ payload }) => payload['title']);
    assert.deepEqual(
      told,
      memory.calls.slice(from).map(({ body }) => body.title),
    );
    assert.deepEqual(told.toSorted(), titles.toSorted());
  });

  test('time out waiting for each other: unavailable, or idempotency_in_flight under the same key', async () => {
    const { id } = await makeWorkspace(baton);
    const send = (key: string, more: object = {}) =>
      hastily('/knowledge/documents', documentOf(id, more), { 'idempotency-key': key });
    const waited = Promise.withResolvers<void>();
    memory.behave({ until: waited.promise });
    const from = memory.calls.length;
    const key = newId();
    const first = admin.post('/knowledge/documents', documentOf(id), { 'idempotency-key': key });
    await until(() => memory.calls.length > from);
    const [other, same, changed] = await Promise.all([
      send(newId()),
      send(key),
      send(key, { title: 'Another' }),
    ]);
    waited.resolve();
    assert.deepEqual(
      [other, same, changed].map(({ status, body }) => [status, body.error.code]),
      [
        [503, 'unavailable'],
        [409, 'idempotency_in_flight'],
        [409, 'idempotency_key_reused'],
      ],
    );
    assert.deepEqual([other.headers.get('retry-after'), same.headers.get('retry-after')], ['1', '1']);
    assert.equal((await first).status, 200);
    assert.equal(memory.calls.length, from + 1);
  });
});

test('unanswered writes of one tenant leave slots for other tenants', async () => {
  const { id } = await makeWorkspace(baton);
  const { id: otherId } = await done(
    baton.otherAdmin.post('/workspaces', { slug: 'another', name: 'Another' }),
    201,
  );
  const namespace = treeOf(id);
  memory.behave({ delayMs: 60_000 }, namespace);
  const from = memory.calls.length;
  const process = await baton.another({ CP_CONTEXT_INGEST_TIMEOUT_SECONDS: '3' });
  const send = ({ token }: Actor, body: object) =>
    sendRequest(`${process.url}/api/v1/knowledge/documents`, 'POST', { token, body });
  const sent = Array.from({ length: 90 }, (_, n) => send(admin, documentOf(id, { naturalKey: `k${n}` })));
  await until(() => memory.calls.length >= from + 16);
  assert.equal(memory.calls.length, from + 16, 'the others wait');
  const startedAt = performance.now();
  await done(send(baton.otherAdmin, documentOf(otherId)));
  assertTookLess(startedAt, 5000);
  memory.behave({}, namespace);
  const answers = await Promise.all(sent);
  const codes = new Set(answers.map(({ status, body }) => (status === 200 ? 'ok' : body.error.code)));
  assert.deepEqual(codes, new Set(['ok', 'memory_unavailable', 'unavailable']));
  await process.close();
});
