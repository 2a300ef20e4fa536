import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, refused } from '../../testing/leases.ts';
import { makeWorkspace } from '../../testing/organisation/workspaces.ts';

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

const make = (slug: string, parentId: string | null = null) => makeWorkspace(baton, { slug, parentId });
const tree = (query: string) => done(baton.admin.get(`/workspaces/tree?${query}`));
type Node = { slug: string; children: Node[] };
const shape = (nodes: Node[]): unknown[] => nodes.map(({ slug, children }) => [slug, ...shape(children)]);

/** Inserts many workspaces in one statement, because API calls would take minutes. */
async function insertMany(parentId: string | null, count: number, prefix: string): Promise<void> {
  await baton.pool.run(sql`
    insert into workspaces (id, tenant_id, parent_id, path, type_id, slug, name)
    select made.id, ${baton.tenantId}, ${parentId}::uuid,
      coalesce((select path from workspaces where id = ${parentId}::uuid), '{}') || made.id, t.id, ${prefix}::text || n, 'x'
    from (select n, gen_random_uuid() as id from generate_series(1, ${count}::integer) n) made, workspace_types t
    where t.tenant_id = ${baton.tenantId} and t.is_system`);
}

test('the tree contains every level, siblings by slug, with the fields of each node', async () => {
  const root = await make('root-a');
  const b = await make('b-child', root.id);
  const a = await make('a-child', root.id);
  await make('leaf', a.id);
  const archived = await make('gone', root.id);
  await done(baton.admin.post(`/workspaces/${archived.id}:archive`));
  const { roots, truncated, nextCursor } = await tree(`rootId=${root.id}`);
  assert.deepEqual([truncated, nextCursor], [false, null]);
  assert.deepEqual(shape(roots), [['root-a', ['a-child', ['leaf']], ['b-child']]]);
  assert.deepEqual(roots[0].children[1], {
    id: b.id,
    parentId: root.id,
    depth: 1,
    slug: 'b-child',
    name: 'Platform',
    status: 'active',
    version: 1,
    typeId: b.typeId,
    typeKey: 'generic',
    project: null,
    children: [],
  });
  const whole = await tree(`rootId=${root.id}&includeArchived=true&includeProjects=false`);
  assert.deepEqual(shape(whole.roots), [['root-a', ['a-child', ['leaf']], ['b-child'], ['gone']]]);
  assert.equal('project' in whole.roots[0], false);
  assert.deepEqual(shape((await tree(`rootId=${root.id}&depth=0`)).roots), [['root-a']]);
  assert.deepEqual(shape((await tree(`rootId=${root.id}&depth=1`)).roots), [
    ['root-a', ['a-child'], ['b-child']],
  ]);
  assert.deepEqual(shape((await tree(`rootId=${a.id}`)).roots), [['a-child', ['leaf']]]);
  assert.deepEqual((await tree(`rootId=${archived.id}`)).roots, []);
  assert.deepEqual(shape((await tree('')).roots), [['root-a', ['a-child', ['leaf']], ['b-child']]]);
  const other = await done(baton.otherAdmin.get('/workspaces/tree'));
  assert.deepEqual(other.roots, []);
  await refused(baton.otherAdmin.get(`/workspaces/tree?rootId=${root.id}`), 404, 'not_found');
});

test('roots are paginated if the request has a limit', async () => {
  const [p, q, r] = [await make('z-p'), await make('z-q'), await make('z-r')];
  await make('below', q.id);
  const seen: string[] = [];
  let cursor = '';
  do {
    const page = await tree(`limit=2${cursor}`);
    seen.push(...page.roots.map(({ slug }: Node) => slug));
    cursor = page.nextCursor === null ? '' : `&cursor=${page.nextCursor}`;
  } while (cursor !== '');
  assert.deepEqual(seen, ['root-a', 'z-p', 'z-q', 'z-r']);
  assert.ok(p && r);
  await refused(baton.admin.get('/workspaces/tree?limit=0'), 422, 'invalid_limit');
  await refused(baton.admin.get('/workspaces/tree?limit=201'), 422, 'invalid_limit');
  await refused(baton.admin.get('/workspaces/tree?cursor=x'), 422, 'invalid_cursor');
  await refused(baton.admin.get('/workspaces/tree?depth=65'), 400, 'invalid_request');
  await refused(baton.admin.get(`/workspaces/tree?rootId=${newId()}`), 404, 'not_found');
});

test('a tree of more than 1,000 nodes is truncated below its last complete level, and marked', async () => {
  const root = await make('wide');
  const child = await make('first', root.id);
  await make('deep', child.id);
  await insertMany(root.id, 998, 'n');
  const whole = await tree(`rootId=${root.id}&depth=1`);
  assert.deepEqual([whole.truncated, whole.roots[0].children.length], [false, 999]);
  const cut = await tree(`rootId=${root.id}&depth=64`);
  assert.deepEqual([cut.truncated, cut.roots[0].children.length], [true, 999]);
  await insertMany(root.id, 2, 'm');
  const roots = await tree(`rootId=${root.id}`);
  assert.deepEqual([roots.truncated, roots.roots[0].children.length], [true, 0]);
});

test('more than 1,000 roots are paginated also without a limit', async () => {
  await insertMany(null, 1200, 'r');
  const first = await tree('');
  assert.deepEqual([first.roots.length, first.truncated], [1000, false]);
  const second = await tree(`cursor=${first.nextCursor}`);
  assert.equal(second.nextCursor, null);
  assert.ok(second.roots.length > 200);
});
