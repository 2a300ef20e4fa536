import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { policyModeOfFile } from '../../testing/access/policy-mode.ts';
import type { TestPolicy } from '../../testing/access/policy-service.ts';
import type { Actor, TestCoordination } from '../../testing/coordination.ts';
import { done, makeTask, refused } from '../../testing/leases.ts';
import { makeWorkspace } from '../../testing/organisation/workspaces.ts';
import { blockOf, insertTestView } from '../../testing/packages/views.ts';

/**
 * CP_AUTHZ_MODE policy: a block shows the rows of its source that a decision point grants, as the source's list does.
 */

let baton: TestCoordination;
let policy: TestPolicy;
const { grant, grantActions, askedOf } = policyModeOfFile((mode) => {
  ({ baton, policy } = mode);
});

const columns = (...names: string[]) => names.map((field) => ({ field }));
const counting = { columns: columns('value'), aggregate: { fn: 'count' } };
const query = (key: string, by: Actor, body: object = {}) =>
  by.post(`/views/${key}:query`, { block: 0, ...body });

async function walk(key: string, by: Actor, limit: number): Promise<string[]> {
  const ids: string[] = [];
  for (let cursor: string | null = null; ; ) {
    const page: any = await done(query(key, by, { limit, cursor }));
    assert.ok(page.items.length <= limit);
    ids.push(...page.items.map(({ id }: { id: string }) => id));
    if (page.nextCursor === null) return ids;
    cursor = page.nextCursor;
  }
}

test('rows and sums include only objects that are listed or granted individually', async () => {
  const tasks: { id: string }[] = [];
  for (let n = 0; n < 5; n += 1) tasks.push(await makeTask(baton));
  const key = await insertTestView(baton, baton.admin, [blockOf(), blockOf(counting)]);
  const reader = await baton.actor({ permissions: [] });
  const mine = [tasks[3], tasks[1]].map((task) => task?.id as string);
  policy.list((who) => (who === reader.iamPrincipalId ? mine : []));
  for (const limit of [1, 2, 50]) assert.deepEqual(await walk(key, reader, limit), mine);
  assert.deepEqual((await done(query(key, reader, { block: 1 }))).items, [{ value: 2 }]);
  assert.deepEqual(askedOf(reader), [], 'list-objects only');
  const nobody = await baton.actor({ permissions: [] });
  assert.deepEqual(await walk(key, nobody, 5), []);
  assert.deepEqual((await done(query(key, nobody, { block: 1 }))).items, [{ value: 0 }]);
  const writer = await baton.actor({ scopes: ['control-plane:write'] });
  await refused(query(key, writer), 403, 'permission_denied');
});

test('no cursor refers to a row that the decision point hides, regardless of their number', async () => {
  const hidden = await makeTask(baton, { title: 'hidden' });
  const copies = (count: number, title: string) =>
    baton.pool.run(sql`
      insert into tasks (id, tenant_id, public_number, type_id, title, status, category, priority, origin, created_by)
      select gen_random_uuid(), tenant_id, next_task_number(tenant_id), type_id, ${title}, status, category, priority, origin,
        created_by
      from tasks, generate_series(1, ${count}::integer) where id = ${hidden.id}`);
  await copies(600, 'b hidden');
  const mine = [await makeTask(baton, { title: 'a mine' }), await makeTask(baton, { title: 'c mine' })];
  const sorts = [{ field: 'title', direction: 'asc' }];
  const key = await insertTestView(baton, baton.admin, [blockOf({ sorts })]);
  const reader = await baton.actor({ permissions: [] });
  const ids = mine.map(({ id }) => id as string);
  policy.list((who) => (who === reader.iamPrincipalId ? ids : []));
  for (const limit of [1, 5]) assert.deepEqual(await walk(key, reader, limit), ids);
  const { nextCursor } = await done(query(key, reader, { limit: 1 }));
  assert.ok(!Buffer.from(nextCursor, 'base64url').toString().includes('hidden'));
  await copies(4000, 'd hidden');
  policy.list(() => []);
  await refused(query(key, reader), 409, 'view_too_costly');
});

test('goals are authorized by their workspace', async () => {
  const { admin } = baton;
  grant(() => true);
  const [workspace, other] = [await makeWorkspace(baton), await makeWorkspace(baton)];
  const aim = async (more: object) => (await done(admin.post('/goals', { title: 'g', ...more }), 201)).id;
  const ids = [await aim({ workspaceId: workspace.id }), await aim({ workspaceId: other.id }), await aim({})];
  const shown = { source: 'goals', columns: columns('id') };
  const key = await insertTestView(baton, admin, [blockOf(shown), blockOf({ ...shown, ...counting })]);
  policy.list(() => [workspace.id]);
  grant(({ resource }) => resource === `tenant:${baton.tenantId}`);
  const reader = await baton.actor();
  assert.deepEqual(await walk(key, reader, 1), [ids[2], ids[0]]);
  assert.deepEqual((await done(query(key, reader, { block: 1 }))).items, [{ value: 2 }]);
});

test('agents and connections are authorized as a whole', async () => {
  const key = await insertTestView(baton, baton.admin, [
    blockOf({ source: 'agents', columns: columns('id') }),
  ]);
  const reader = await baton.actor();
  grantActions('agents.read');
  await done(query(key, reader));
  const denied = await baton.actor();
  grantActions('connections.read');
  await refused(query(key, denied), 403, 'permission_denied');
});
