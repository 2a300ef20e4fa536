import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { newId } from '@baton/values/ids';
import { type Actor, sendRequest, type TestCoordination } from '../../testing/coordination.ts';
import { done, makeTask, refused } from '../../testing/leases.ts';
import { startWithMemory, type WithMemory } from '../../testing/memory/contexts.ts';
import type { TestMemory } from '../../testing/memory/memory-service.ts';
import { makeNarrowPerson, makeWorkspace } from '../../testing/organisation/workspaces.ts';

let started: WithMemory;
let baton: TestCoordination;
let memory: TestMemory;
let admin: Actor;
let tenants: string;
before(async () => {
  started = await startWithMemory();
  ({ baton, memory } = started);
  ({ admin } = baton);
  tenants = `tenant:${baton.tenantId}`;
  memory.knowledge.know(tenants, { entities: [{ kind: 'service', key: 'service:billing' }] });
});
afterEach(() => memory.behave({}));
after(() => started.close());

const recall = (actor: Actor, body: object) => actor.post('/context/recall', body);

test('by an anchor: memory’s knowledge about one entity, in the namespaces of a task', async () => {
  const workspace = await makeWorkspace(baton);
  const task = await makeTask(baton, { workspaceId: workspace.id });
  const asked = { anchor: 'service:billing', asOf: '2026-01-01T00:00:00Z', task: task.publicId };
  const namespaces = [tenants, `${tenants}:ws:${workspace.id}`];
  assert.deepEqual(await done(recall(admin, asked)), {
    anchors: ['service:billing'],
    semantic: false,
    asOf: '2026-01-01T00:00:00.000Z',
    namespaces,
    warnings: [],
    pack: { entities: [{ kind: 'service', key: 'service:billing' }], facts: [], snapshots: [] },
  });
  assert.deepEqual(memory.calls.at(-1)?.body, {
    anchors: ['service:billing'],
    kinds: [],
    relations: [],
    depth: 1,
    as_of: '2026-01-01T00:00:00.000Z',
    max_tokens: 3000,
    direction: 'both',
    limit: 20,
    where: [],
    scope: { namespace: tenants, namespaces },
  });
});

test('by a text, with every filter', async () => {
  const { id: workspaceId } = await makeWorkspace(baton);
  const where = [
    { attr: 'tier', op: 'in', value: [1, 2] },
    { attr: 'name', op: 'exists' },
    { attr: 'name', op: 'prefix', value: 'b' },
  ];
  const more = { relations: ['uses'], direction: 'out', depth: 5, limit: 200, budgetTokens: 32_000, where };
  const answer = await done(recall(admin, { query: 'billing', kind: 'service', workspaceId, ...more }));
  assert.deepEqual([answer.semantic, answer.anchors], [true, []]);
  const { query, kinds, depth, max_tokens, direction, where: sent } = memory.calls.at(-1)?.body ?? {};
  assert.deepEqual(
    [query, kinds, depth, max_tokens, direction, sent],
    ['billing', ['service'], 5, 32_000, 'out', where],
  );
});

test('refuses a contradictory request with invalid_recall_request, and a malformed one with 400', async () => {
  const anchor = 'a:b';
  for (const wrong of [
    {},
    { anchor, query: 'x' },
    { anchor: 'a' },
    { anchor, kind: 'a', kinds: ['b'] },
    { anchor, task: newId(), workspaceId: newId() },
    { anchor, where: [{ attr: 'a', op: 'in', value: 1 }] },
    { anchor, where: [{ attr: 'a', op: 'eq' }] },
    { anchor, where: [{ attr: 'a', op: 'exists', value: 1 }] },
  ])
    await refused(recall(admin, wrong), 422, 'invalid_recall_request');
  for (const wrong of [
    { anchor: `a:${'x'.repeat(299)}` },
    { anchor, depth: 6 },
    { anchor, limit: 201 },
    { anchor, budgetTokens: 32_001 },
    { anchor, where: Array(21).fill({ attr: 'a', op: 'exists' }) },
    { anchor, where: [{ attr: 'a', op: 'like', value: 'x' }] },
    { anchor, namespace: 'tenant:x' },
    { anchor, asOf: '2026-01-01' },
  ])
    await refused(recall(admin, wrong), 400, 'invalid_request');
});

test('needs events.read, and tasks.read for a task; then the task and the workspace must exist', async () => {
  const asked = { anchor: 'a:b' };
  await refused(recall(await baton.actor({ permissions: ['tasks.read'] }), asked), 403, 'permission_denied');
  const reader = await baton.actor({ permissions: ['events.read'] });
  const task = await makeTask(baton);
  const details = await refused(recall(reader, { ...asked, task: task.id }), 403, 'permission_denied');
  assert.deepEqual(details, { required: ['tasks.read'] });
  await done(recall(reader, asked));
  await refused(recall(admin, { ...asked, task: newId() }), 404, 'not_found');
  await refused(recall(admin, { ...asked, workspaceId: newId() }), 404, 'not_found');
  await refused(recall(baton.otherAdmin, { ...asked, task: task.id }), 404, 'not_found');
});

test('is refused to a person who sees no namespace as a whole', async () => {
  const { person, mine, other } = await makeNarrowPerson(baton);
  await refused(recall(person, { anchor: 'a:b' }), 403, 'permission_denied');
  await refused(recall(person, { anchor: 'a:b', workspaceId: other.id }), 404, 'not_found');
  const { namespaces } = await done(recall(person, { anchor: 'a:b', workspaceId: mine.id }));
  assert.deepEqual(namespaces, [`${tenants}:ws:${mine.id}`]);
});

test('without memory the error is disabled, timeout, rejected or unavailable', async () => {
  const without = await baton.another({ CP_CONTEXT_PROVIDER: 'none' });
  const headers = { authorization: `Bearer ${admin.token}`, 'content-type': 'application/json' };
  const init = { method: 'POST', headers, body: '{"anchor":"a:b"}' };
  const off = await fetch(`${without.url}/api/v1/context/recall`, init);
  assert.deepEqual([off.status, ((await off.json()) as any).error.code], [503, 'memory_disabled']);
  await without.close();
  const asked = () => recall(admin, { anchor: 'a:b' });
  memory.behave({ delayMs: 60_000 });
  const hasty = await baton.another({ CP_CONTEXT_TIMEOUT_SECONDS: '1' });
  const late = sendRequest(`${hasty.url}/api/v1/context/recall`, 'POST', {
    token: admin.token,
    body: { anchor: 'a:b' },
  });
  await refused(late, 503, 'memory_timeout');
  await hasty.close();
  memory.behave({ answer: { status: 400 } });
  await refused(asked(), 422, 'invalid_recall_request');
  memory.behave({ hangsUp: true });
  const away = await refused(asked(), 502, 'memory_unavailable');
  assert.deepEqual(away, { memoryStatus: null, retryable: true });
  memory.behave({ answer: { status: 503, headers: { 'retry-after': '7' } } });
  const answer = await asked();
  assert.deepEqual([answer.status, answer.headers.get('retry-after')], [502, '7']);
  memory.behave({ answer: { status: 200, body: '{}' } });
  const unreadable = await refused(asked(), 502, 'memory_unavailable');
  assert.deepEqual(unreadable, { memoryStatus: 200, retryable: false });
});
