import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import type { Actor, TestCoordination } from '../../testing/coordination.ts';
import { done, refused } from '../../testing/leases.ts';
import { startWithMemory, type WithMemory } from '../../testing/memory/contexts.ts';
import { documentOf, knowledgeEvents, snapshotOf } from '../../testing/memory/knowledge.ts';
import type { TestMemory } from '../../testing/memory/memory-service.ts';
import { makeNarrowPerson, makeWorkspace } from '../../testing/organisation/workspaces.ts';

let started: WithMemory;
let baton: TestCoordination;
let memory: TestMemory;
let admin: Actor;
before(async () => {
  started = await startWithMemory();
  ({ baton, memory } = started);
  ({ admin } = baton);
});
afterEach(async () => {
  memory.behave({});
  assert.deepEqual(await baton.pool.rows(sql`select id, kind from knowledge_intents`), []);
});
after(() => started.close());

const put = (actor: Actor, path: string, body: object, headers: Record<string, string> = {}) =>
  baton.request('PUT', `/api/v1${path}`, { token: actor.token, body, headers });
const treeOf = (rootId: string) => `tenant:${baton.tenantId}:ws:${rootId}`;

describe('entities', () => {
  const query = (actor: Actor, body: object) => actor.post('/knowledge/entities:query', body);

  test('are requested by kind and conditions, page by page, with relations', async () => {
    const { id: workspaceId } = await makeWorkspace(baton);
    const entities = [1, 2, 3].map((n) => ({ kind: 'service', key: `service:${n}`, tier: n }));
    const facts = [{ subject: 'service:1', predicate: 'uses', object: 'service:2' }];
    memory.knowledge.know(treeOf(workspaceId), { entities, facts });
    const where = [{ attr: 'tier', op: 'lte', value: 2 }];
    const asked = { workspaceId, kinds: ['service'], where, limit: 1 };
    const first = await done(query(admin, { ...asked, include: { relations: '*' } }));
    assert.deepEqual(first, { items: [{ ...entities[0], relations: facts }], nextCursor: '1' });
    const second = await done(
      query(admin, { ...asked, cursor: first.nextCursor, asOf: '2026-01-01T00:00:00Z' }),
    );
    assert.deepEqual(second, { items: [entities[1]], nextCursor: null });
    assert.deepEqual(memory.calls.at(-1)?.body, {
      kinds: ['service'],
      where,
      limit: 1,
      as_of: '2026-01-01T00:00:00.000Z',
      cursor: '1',
      scopes: [`workspace:${workspaceId}`],
      scope: { namespace: treeOf(workspaceId) },
    });
  });

  test('are refused: form, permission, workspace, query, memory', async () => {
    const { id: workspaceId } = await makeWorkspace(baton);
    const asked = { workspaceId, kinds: ['service'] };
    await refused(query(admin, { workspaceId, kinds: [] }), 400, 'invalid_request');
    await refused(query(admin, { ...asked, limit: 501 }), 400, 'invalid_request');
    const writer = await baton.actor({ permissions: ['observations.write'] });
    await refused(query(writer, asked), 403, 'permission_denied');
    await refused(query(admin, { ...asked, workspaceId: newId() }), 404, 'not_found');
    const where = [{ attr: 'a', op: 'in', value: 1 }];
    await refused(query(admin, { ...asked, where }), 422, 'entities_query_invalid');
    const many = { ...asked, limit: 101, include: { relations: ['uses'] } };
    await refused(query(admin, many), 422, 'entities_query_invalid');
    await refused(query(admin, { ...asked, cursor: 'x' }), 422, 'entities_query_invalid');
    memory.behave({ delayMs: 60_000 });
    await Promise.all([
      refused(query(admin, asked), 503, 'memory_timeout'),
      refused(admin.get('/knowledge/packs/platform'), 503, 'memory_timeout'),
    ]);
    memory.behave({ answer: { status: 200, body: `{"items":[${'{},'.repeat(100)}{}]}` } });
    await refused(query(admin, asked), 502, 'memory_unavailable');
  });

  test('are returned to a person with restricted visibility only from a tree that is visible as a whole', async () => {
    const { person, mine, other } = await makeNarrowPerson(baton);
    await done(query(person, { workspaceId: mine.id, kinds: ['a'] }));
    await refused(query(person, { workspaceId: other.id, kinds: ['a'] }), 404, 'not_found');
    const inner = await makeWorkspace(baton, { parentId: other.id });
    await done(admin.post(`/workspaces/${inner.id}/members`, { principalId: person.principalId }), 201);
    await refused(query(person, { workspaceId: inner.id, kinds: ['a'] }), 403, 'permission_denied');
  });
});

describe('packs', () => {
  const packOf = (more: object = {}) => ({
    name: `p${newId()}`,
    version: '1.0.0',
    scope: 'tenant',
    kinds: {},
    ...more,
  });

  test('of the tenant are registered once, with an event; a version with different content is refused', async () => {
    const pack = packOf();
    const registered = { name: pack.name, version: '1.0.0', status: 'active', scope: 'tenant' };
    assert.deepEqual(await done(admin.post('/knowledge/packs', pack), 201), registered);
    assert.deepEqual(await done(admin.post('/knowledge/packs', pack), 200), registered);
    const changed = { ...pack, kinds: { a: {} } };
    await refused(admin.post('/knowledge/packs', changed), 409, 'pack_version_conflict');
    const events = await baton.pool.rows<{
      schema_version: number;
      entity_type: string;
      payload: object;
    }>(sql`
      select schema_version, entity_type, payload from events
      where type = 'knowledge.pack_registered' and payload ->> 'name' = ${pack.name}`);
    assert.deepEqual(events, [{ schema_version: 2, entity_type: 'knowledge_pack', payload: registered }]);
    for (const ref of [pack.name, `${pack.name}@1.0.0`])
      assert.equal((await done(admin.get(`/knowledge/packs/${ref}`))).name, pack.name);
    await refused(baton.otherAdmin.get(`/knowledge/packs/${pack.name}`), 404, 'not_found');
    for (const ref of ['a@b@c', '@1', 'a b'])
      await refused(admin.get(`/knowledge/packs/${encodeURIComponent(ref)}`), 422, 'invalid_pack_ref');
  });

  test('need authorization: a permission, or for packs of all tenants an entry in CP_KNOWLEDGE_PACK_ADMINS', async () => {
    const nobody = await baton.actor({ permissions: ['events.read'] });
    const details = await refused(nobody.post('/knowledge/packs', packOf()), 403, 'permission_denied');
    assert.deepEqual(details, { required: ['knowledge.packs.manage'] });
    for (const scope of ['global', undefined])
      await refused(admin.post('/knowledge/packs', packOf({ scope })), 403, 'permission_denied');
    const named = await baton.another({ CP_KNOWLEDGE_PACK_ADMINS: JSON.stringify([nobody.principalId]) });
    const pack = packOf({ scope: 'global' });
    const response = await fetch(`${named.url}/api/v1/knowledge/packs`, {
      method: 'POST',
      headers: { authorization: `Bearer ${nobody.token}`, 'content-type': 'application/json' },
      body: JSON.stringify(pack),
    });
    assert.equal(response.status, 201);
    assert.equal((await done(baton.otherAdmin.get(`/knowledge/packs/${pack.name}`))).name, pack.name);
    await named.close();
  });

  test('are refused when malformed, for every caller', async () => {
    let deep: object = {};
    for (let level = 0; level < 21; level += 1) deep = { deep };
    for (const wrong of [
      { name: 'a@b' },
      { version: '' },
      { namespace: 'tenant:x' },
      { kinds: 1 },
      { kinds: deep },
      { text: 'x'.repeat(262_144) },
    ])
      await refused(admin.post('/knowledge/packs', packOf(wrong)), 422, 'pack_invalid');
  });

  test('return memory_unavailable if memory fails', async () => {
    const { id } = await makeWorkspace(baton);
    memory.behave({ answer: { status: 500 } });
    for (const answer of [
      admin.post('/knowledge/packs', packOf()),
      admin.get('/knowledge/packs/platform'),
      put(admin, `/workspaces/${id}/knowledge-packs`, { packs: [] }),
    ])
      assert.deepEqual(await refused(answer, 502, 'memory_unavailable'), {
        memoryStatus: 500,
        retryable: true,
      });
  });

  test('of a workspace are those of the root of its tree', async () => {
    const root = await makeWorkspace(baton);
    const child = await makeWorkspace(baton, { parentId: root.id });
    const pack = packOf();
    await done(admin.post('/knowledge/packs', pack), 201);
    const path = (id: string) => `/workspaces/${id}/knowledge-packs`;
    const none = { configured: false, packs: [], strict: false, effective: [], updatedAt: null };
    const ids = { workspaceId: root.id, rootWorkspaceId: root.id };
    assert.deepEqual(await done(admin.get(path(root.id))), { ...ids, ...none });
    const packs = [`${pack.name}@1.0.0`];
    const set = await done(put(admin, path(root.id), { packs, strict: true }));
    const { updatedAt } = set;
    assert.deepEqual(set, { ...ids, configured: true, packs, strict: true, effective: packs, updatedAt });
    assert.deepEqual(await done(put(admin, path(root.id), { packs, strict: true })), set);
    const below = await done(admin.get(path(child.id)));
    assert.deepEqual(below, { ...set, workspaceId: child.id, packs: [] });
    const events = await knowledgeEvents(baton, root.id);
    assert.deepEqual(
      events.map(({ type, payload }) => [type, payload]),
      [
        [
          'knowledge.packs_configured',
          { workspaceId: root.id, namespace: treeOf(root.id), packs, strict: true },
        ],
      ],
    );
    const details = await refused(put(admin, path(child.id), { packs }), 422, 'workspace_not_root');
    assert.equal(details.rootWorkspaceId, root.id);
    await refused(put(admin, path(root.id), { packs: [pack.name] }), 422, 'pack_version_required');
    await refused(put(admin, path(root.id), { packs: ['absent@1'] }), 422, 'pack_not_found');
    await refused(put(admin, path(newId()), { packs }), 404, 'not_found');
    await refused(put(baton.otherAdmin, path(root.id), { packs }), 404, 'not_found');
    await refused(baton.otherAdmin.get(path(root.id)), 404, 'not_found');
    const { person, other } = await makeNarrowPerson(baton);
    await refused(put(person, path(other.id), { packs: [] }), 404, 'not_found');
    await refused(person.get(path(other.id)), 404, 'not_found');
  });
});

test('without a memory service every memory operation returns memory_disabled, after the checks of permission and workspace', async () => {
  const without = await baton.another({ CP_CONTEXT_PROVIDER: 'none' });
  const { id } = await makeWorkspace(baton);
  const call = async (method: string, path: string, body?: object) => {
    const response = await fetch(`${without.url}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${admin.token}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    const { error } = (await response.json()) as { error: { code: string } };
    return `${response.status} ${error.code}`;
  };
  for (const [method, path, body] of [
    ['POST', '/knowledge/snapshots', snapshotOf(id)],
    ['POST', '/knowledge/snapshots:preview', snapshotOf(id)],
    ['POST', '/knowledge/documents', documentOf(id)],
    ['POST', '/knowledge/entities:query', { workspaceId: id, kinds: ['a'] }],
    ['POST', '/knowledge/packs', { name: 'a', version: '1', scope: 'tenant' }],
    ['GET', '/knowledge/packs/a', undefined],
    ['PUT', `/workspaces/${id}/knowledge-packs`, { packs: [] }],
  ] as const)
    assert.equal(await call(method, path, body), '503 memory_disabled', path);
  const gone = { workspaceId: newId(), kinds: ['a'] };
  assert.equal(await call('POST', '/knowledge/entities:query', gone), '404 not_found');
  await without.close();
});
