import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Statement, sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import {
  findDueTimers,
  findInstancesDue,
  findKept,
  findWaitedKeys,
  findWaiting,
  hasOfVersion,
  lockFreeOfVersion,
} from './instances.sql.ts';

// Tests twenty thousand waiting instances: neither the search for due timers nor the handling of an event reads
// unrelated instances.

const instances = 20_000;
const due = 5;
const rowsReadMax = 60;

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
  await baton.pool.transaction(async (tx) => {
    // Without foreign keys, because checking them would take most of the time.
    await tx.run(sql`set local session_replication_role = replica`);
    await tx.run(sql`
      insert into process_instances (id, tenant_id, definition_key, definition_version, instance_key, identity_agent, status, state, started_at)
      select md5('i' || n)::uuid, ${baton.tenantId}::uuid, 'many', 1, 'k' || n, 'a', 'running', '{}', now()
      from generate_series(1, ${instances}::integer) n`);
    await tx.run(sql`
      insert into process_timers (id, instance_id, tenant_id, due_at)
      select md5('t' || n)::uuid, md5('i' || n)::uuid, ${baton.tenantId}::uuid,
        now() + case when n <= ${due}::integer then - interval '1 min' else interval '1 hour' end
      from generate_series(1, ${instances}::integer) n`);
    await tx.run(sql`
      insert into process_waits (instance_id, wait_key, tenant_id)
      select md5('i' || n)::uuid, 'entity:' || md5('e' || n)::uuid, ${baton.tenantId}::uuid
      from generate_series(1, ${instances}::integer) n`);
  });
  await baton.pool.run(sql`analyze process_instances, process_timers, process_waits, process_inputs`);
});
after(() => baton.close());

interface PlanNode {
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  Plans?: PlanNode[];
}

/** The total number of rows that the plan nodes of a statement read. */
async function rowsReadBy({ text, values }: Statement<unknown>): Promise<number> {
  const explain = `explain (analyze, format json) ${text}`;
  const [plan] = await baton.pool.rows<{ 'QUERY PLAN': { Plan: PlanNode }[] }>({ text: explain, values });
  const count = (node: PlanNode): number =>
    (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'] +
    (node.Plans ?? []).reduce((sum, inner) => sum + count(inner), 0);
  return count(plan?.['QUERY PLAN'][0]?.Plan as PlanNode);
}

test('due timers are found without those that are not due', async () => {
  const statement = findDueTimers(['-infinity', '00000000-0000-0000-0000-000000000000'], 100);
  assert.equal((await baton.pool.rows(statement)).length, due);
  assert.ok((await rowsReadBy(statement)) <= rowsReadMax);
});

test('the worker ignores an instance without pending work', async () => {
  const statement = findInstancesDue(['-infinity', '00000000-0000-0000-0000-000000000000'], 100);
  assert.equal((await baton.pool.rows(statement)).length, 0);
  assert.ok((await rowsReadBy(statement)) <= rowsReadMax);
});

test('an event finds the instance that waits for it, and any other event finds none', async () => {
  const [{ key } = { key: '' }] = await baton.pool.rows<{ key: string }>(
    sql`select wait_key as key from process_waits limit 1`,
  );
  for (const [keys, found] of [
    [[key, 'event:task.completed'], 1],
    [[`entity:${newId()}`, 'event:task.created'], 0],
  ] as const) {
    const [own, heard] = [[keys[0]], keys[1]];
    const awaited = { own, heard, sourceRef: `event:${newId()}`, blind: { keys: [], versions: [] } };
    const waiting = findWaiting(baton.tenantId, awaited, 100);
    assert.equal((await baton.pool.rows(waiting)).length, found);
    assert.ok((await rowsReadBy(waiting)) <= rowsReadMax);
    assert.ok((await rowsReadBy(findWaitedKeys(baton.tenantId, keys))) <= rowsReadMax);
  }
  assert.ok((await rowsReadBy(findKept(baton.tenantId, newId(), 100))) <= rowsReadMax);
});

test('some instances of a version are found, and none if all were attempted', async () => {
  const from = { definition_key: 'many', from_version: 1, to_version: 2 } as Parameters<
    typeof hasOfVersion
  >[1];
  assert.equal((await baton.pool.rows(lockFreeOfVersion(baton.tenantId, from, 20))).length, 20);
  assert.ok((await rowsReadBy(lockFreeOfVersion(baton.tenantId, from, 20))) <= rowsReadMax);
  for (const none of [
    { ...from, from_version: 2, to_version: 3 },
    { ...from, to_version: 0 },
  ]) {
    assert.equal((await baton.pool.rows(lockFreeOfVersion(baton.tenantId, none, 20))).length, 0);
    assert.equal((await baton.pool.row(hasOfVersion(baton.tenantId, none)))?.has, false);
    assert.ok((await rowsReadBy(lockFreeOfVersion(baton.tenantId, none, 20))) <= rowsReadMax);
    assert.ok((await rowsReadBy(hasOfVersion(baton.tenantId, none))) <= rowsReadMax);
  }
});
