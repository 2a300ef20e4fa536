import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, type TestContext, test } from 'node:test';
import { type Statement, sql } from '@baton/kernel/database/sql';
import { adminHeader, startIdentity, type TestIdentity } from '../../testing/identity.ts';
import { made, makePrincipal, makeTenant } from '../../testing/objects.ts';
import { auditOf } from '../../testing/records.ts';
import { until } from '../../testing/waiting.ts';

let identity: TestIdentity;
let other: TestIdentity;
before(async () => {
  identity = await startIdentity();
  other = await identity.another();
});
after(() => identity.close());

const membersCount = 1250;
const firstBatch = 100;

async function makeGroup() {
  const tenantId = await makeTenant(identity);
  const groups = `/tenants/${tenantId}/groups`;
  const { id } = await made(identity.post(groups, { key: 'abc', name: 'x' }));
  return { tenantId, groups, id, path: `${groups}/${id}` };
}

async function addMembers({ tenantId, id }: { tenantId: string; id: string }): Promise<void> {
  const people = Array.from({ length: membersCount }, () => randomUUID());
  await identity.pool.run(sql`
    with made as (
      insert into principals (id, kind, display_name) select id, 'agent', 'x' from unnest(${people}::uuid[]) p (id)
      returning id
    )
    insert into group_members (id, tenant_id, group_id, principal_id, source)
    select gen_random_uuid(), ${tenantId}, ${id}, made.id, 'local' from made`);
}

const remove = (service: TestIdentity, path: string) =>
  service.request('DELETE', `/api/v1${path}`, { headers: adminHeader });

/** Runs a statement in a transaction that is open until it is released. */
async function hold(t: TestContext, statement: Statement<unknown>): Promise<() => Promise<void>> {
  const end = Promise.withResolvers<void>();
  const holding = Promise.withResolvers<void>();
  const done = identity.pool.transaction(async (tx) => {
    await tx.rows(statement);
    holding.resolve();
    await end.promise;
  });
  const release = async () => {
    end.resolve();
    await done;
  };
  t.after(release);
  await Promise.race([holding.promise, done]);
  return release;
}

async function countMembers(groupId: string): Promise<number | undefined> {
  const row = await identity.pool.row<{ count: number }>(
    sql`select count(*) as count from group_members where group_id = ${groupId}`,
  );
  return row?.count;
}

const isGone = async (groupId: string) =>
  (await identity.pool.row(sql`select id from groups where id = ${groupId}`)) === undefined;

/** The number of removed members, the number of deletions, and whether the deletion comes last. */
async function eventsOf(groupId: string) {
  return identity.pool.row(sql`
    select count(*) filter (where type = 'group_membership.removed') as removed,
      count(*) filter (where type = 'group.deleted') as deleted,
      max(sequence) filter (where type = 'group.deleted') = max(sequence) as is_last
    from events where aggregate_id = ${groupId}`);
}

test('a group is deleted without waiting for who is adding a member, whose membership is then removed', async (t) => {
  const { tenantId, groups, id, path } = await makeGroup();
  const principalId = await makePrincipal(identity, tenantId);
  // Holds the lock until its transaction commits, as a sign-in does.
  const release = await hold(
    t,
    sql`
      with locked as materialized (select id from groups where id = ${id} for key share)
      insert into group_members (id, tenant_id, group_id, principal_id, source)
      select gen_random_uuid(), ${tenantId}, id, ${principalId}, 'federated' from locked`,
  );
  assert.equal((await remove(other, path)).status, 204);
  assert.equal((await remove(identity, path)).status, 404);
  assert.equal((await identity.get(path)).status, 404);
  assert.equal((await identity.get(`${path}/members`)).status, 404);
  assert.equal((await identity.post(`${path}/members`, { principalId })).status, 404);
  assert.equal((await identity.patch(path, { status: 'disabled' })).status, 404);
  assert.deepEqual((await made(identity.get(groups))).items, []);
  await made(identity.post(groups, { key: 'abc', name: 'Another' }));
  assert.deepEqual(await eventsOf(id), { removed: 0, deleted: 0, is_last: null });
  await release();
  await until(() => isGone(id), 'the job has removed the group');
  assert.equal(await countMembers(id), 0);
  assert.deepEqual(await eventsOf(id), { removed: 1, deleted: 1, is_last: true });
});

test('a DELETE answers after the first 100 members; the others are removed in batches, each once', async (t) => {
  const group = await makeGroup();
  await addMembers(group);
  const release = await hold(
    t,
    sql`
      select id from group_members where id in (
        select id from group_members where group_id = ${group.id}
        order by created_at, principal_id offset ${firstBatch})
      for update`,
  );
  assert.equal((await remove(other, group.path)).status, 204);
  assert.equal(await countMembers(group.id), membersCount - firstBatch);
  assert.equal((await identity.get(group.path)).status, 404);
  const last = (await auditOf(identity, group.tenantId)).at(-1);
  assert.deepEqual([last?.action, last?.reason], ['groups.delete', `group:abc members:${membersCount}`]);
  await release();
  await until(() => isGone(group.id), 'the job has removed the group');
  assert.deepEqual(await eventsOf(group.id), { removed: membersCount, deleted: 1, is_last: true });
});
