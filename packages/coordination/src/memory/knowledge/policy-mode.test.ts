import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { newId } from '@baton/values/ids';
import { type PolicyMode, startPolicyMode } from '../../testing/access/policy-mode.ts';
import type { Actor, TestCoordination } from '../../testing/coordination.ts';
import { done, refused } from '../../testing/leases.ts';
import { startWithMemory } from '../../testing/memory/contexts.ts';
import { snapshotOf } from '../../testing/memory/knowledge.ts';
import { startMemoryService, type TestMemory } from '../../testing/memory/memory-service.ts';
import { makeNarrowPerson, makeWorkspace } from '../../testing/organisation/workspaces.ts';

/** Tests that only callers who may read a namespace can read its knowledge, through any endpoint. */

let memory: TestMemory;
let mode: PolicyMode;
let baton: TestCoordination;
let reader: Actor;
/** The namespaces that the decision point shows the reader. */
let shown: string[] = [];
before(async () => {
  memory = await startMemoryService();
  mode = await startPolicyMode({ CP_CONTEXT_PROVIDER: 'http', CP_CONTEXT_BASE_URL: memory.url });
  ({ baton } = mode);
  reader = await baton.actor();
});
after(async () => {
  await mode.close();
  await memory.close();
});
beforeEach(() => {
  mode.reset();
  shown = [];
  mode.grant(() => true);
  mode.policy.list((_who, action) => (action === 'memory.read' ? shown : []));
  memory.calls.length = 0;
});

const preview = (actor: Actor, workspaceId: string, more: object = {}) =>
  actor.post('/knowledge/snapshots:preview', snapshotOf(workspaceId, { ...more, entities: [] }));

test('a preview, which returns knowledge from memory, requires the namespace of the tree', async () => {
  const { id } = await makeWorkspace(baton);
  await done(baton.admin.post('/knowledge/snapshots', snapshotOf(id)));
  memory.calls.length = 0;
  for (const ids of [[], [`tenant-${baton.tenantId}`], [`ws-${newId()}`]]) {
    shown = ids;
    const { required } = await refused(preview(reader, id), 403, 'permission_denied');
    assert.deepEqual(required, ['memory.read']);
  }
  assert.equal(memory.calls.length, 0);
  shown = [`ws-${id}`];
  const { changes } = await done(preview(reader, id));
  assert.deepEqual(
    changes.closed.map(({ key }: { key: string }) => key),
    ['service:billing', 'team:money'],
  );
});

test('a pack requires the namespace of the tenant', async () => {
  const pack = { name: `p${newId()}`, version: '1.0.0', scope: 'tenant', kinds: {} };
  await done(baton.admin.post('/knowledge/packs', pack), 201);
  memory.calls.length = 0;
  const read = () => reader.get(`/knowledge/packs/${pack.name}`);
  const { required } = await refused(read(), 403, 'permission_denied');
  assert.deepEqual(required, ['memory.read']);
  assert.equal(memory.calls.length, 0);
  shown = [`tenant-${baton.tenantId}`];
  assert.equal((await done(read())).name, pack.name);
});

test('without a decision point, a person gets a preview of a tree that is visible as a whole', async () => {
  const { baton: plain, close } = await startWithMemory();
  try {
    const { person, mine, other } = await makeNarrowPerson(plain);
    const inner = await makeWorkspace(plain, { parentId: other.id });
    await done(plain.admin.post(`/workspaces/${inner.id}/members`, { principalId: person.principalId }), 201);
    await done(preview(person, mine.id));
    await refused(preview(person, inner.id), 403, 'permission_denied');
    await refused(preview(person, other.id), 404, 'not_found');
  } finally {
    await close();
  }
});
