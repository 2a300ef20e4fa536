import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, makeTask } from '../../testing/leases.ts';
import { findEligibleDeciders } from './eligible-deciders.sql.ts';

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

/** Adds people who were created after everyone else. */
async function addPeople(count: number, permission: string): Promise<void> {
  await baton.pool.run(sql`
    with made as (
      insert into principals (id, tenant_id, kind, display_name, status, metadata, created_at)
      select gen_random_uuid(), ${baton.tenantId}, 'human', 'Person ' || n, 'active', '{}', now() + interval '1 minute'
      from generate_series(1, ${count}::integer) n
      returning id, tenant_id
    )
    insert into iam_bindings (id, tenant_id, principal_id, issuer, iam_tenant_id, iam_principal_id, permissions, created_at)
    select gen_random_uuid(), tenant_id, id, 'https://iam.example', gen_random_uuid(), gen_random_uuid(),
      ${[permission]}::text[], now() + interval '1 minute'
    from made`);
}

interface PlanNode {
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly Plans?: readonly PlanNode[];
}

/** The number of rows that the nodes of a plan read. */
function rowsRead(node: PlanNode): number {
  const ofNode = (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'];
  return (node.Plans ?? []).reduce((sum, child) => sum + rowsRead(child), ofNode);
}

const decidersOf = (task: { id: string }) => done(baton.admin.get(`/tasks/${task.id}/deciders`));

test('few deciders among many people are found without reading the others', async () => {
  const owner = await baton.actor({ kind: 'human', permissions: ['approvals.decide'] });
  const task = await makeTask(baton, { ownerId: owner.principalId });
  await addPeople(1500, 'tasks.read');
  const { people, hasMore } = await decidersOf(task);
  const ids = people.map(({ id }: any) => id);
  assert.ok(ids.includes(owner.principalId) && ids.includes(baton.admin.principalId));
  assert.equal(hasMore, false);

  const { tenantId } = baton;
  const { text, values } = findEligibleDeciders({ tenantId, taskId: task.id, viewerId: null, limit: 20 });
  await baton.pool.run(sql`analyze principals, iam_bindings, api_keys`);
  const explain = { text: `explain (analyze, format json) ${text}`, values };
  const [plan] = await baton.pool.transaction(async (tx) => {
    await tx.run(sql`set local enable_seqscan = off`);
    return tx.rows<{ 'QUERY PLAN': { Plan: PlanNode }[] }>(explain);
  });
  const rows = rowsRead((plan as NonNullable<typeof plan>)['QUERY PLAN'][0]?.Plan as PlanNode);
  assert.ok(rows < 200, `${rows} rows are read`);
});

test('the owner comes first, regardless of the number of newer deciders; hasMore is true', async () => {
  const owner = await baton.actor({ kind: 'human', permissions: ['approvals.decide'] });
  const task = await makeTask(baton, { ownerId: owner.principalId });
  await addPeople(1001, 'approvals.decide');
  const { people, hasMore } = await decidersOf(task);
  assert.deepEqual([people[0].id, people.length, hasMore], [owner.principalId, 20, true]);
});
