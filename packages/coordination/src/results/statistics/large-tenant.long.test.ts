import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Db } from '@baton/kernel/database/db';
import { sql } from '@baton/kernel/database/sql';
import { assertTookLess } from '@baton/testing/depth';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { makeNarrowPerson } from '../../testing/organisation/workspaces.ts';

const tasks = 100_000;
const principals = 300;
const workspaces = 200;
/** A list may take 3 s. */
const msMax = 3000;
const dayMs = 86_400_000;

let baton: TestCoordination;
let person: TestCoordination['admin'];
before(async () => {
  baton = await startCoordination();
  const narrow = await makeNarrowPerson(baton);
  person = narrow.person;
  await baton.pool.transaction((tx) => fill(tx, baton, narrow.mine.id));
  await baton.pool.run(sql`analyze`);
});
after(() => baton.close());

/**
 * 100,000 tasks that were completed within the last 92 days, each with a claim, a run with three actions, and an
 * approval; another 100,000 before. A hundredth of the leases was lost.
 */
async function fill(tx: Db, { tenantId, admin }: TestCoordination, parentId: string): Promise<void> {
  // Without foreign keys and triggers, which take most of the time.
  await tx.run(sql`set local session_replication_role = replica`);
  await tx.run(sql`set local statement_timeout = '300s'`);
  await tx.run(sql`
    insert into workspaces (id, tenant_id, parent_id, path, type_id, slug, name)
    select made.id, ${tenantId}, case when n % 2 = 0 then up.id end, case when n % 2 = 0 then up.path else '{}' end || made.id, up.type_id, 'w' || n, 'x'
    from (select n, gen_random_uuid() as id from generate_series(1, ${workspaces}::integer) n) made, workspaces up where up.id = ${parentId}`);
  await tx.run(sql`
    create temp table holders on commit drop as
    select n, gen_random_uuid() as id from generate_series(0, ${principals - 1}::integer) n`);
  await tx.run(sql`
    create temp table places on commit drop as
    select (row_number() over (order by id) - 1)::integer as n, id from workspaces where slug like 'w%' and name = 'x'`);
  await tx.run(sql`
    insert into tasks (id, tenant_id, public_number, workspace_id, type_id, title, status, category, priority, origin, created_by,
      created_at, completed_at)
    select gen_random_uuid(), ${tenantId}::uuid, 1000 + n, p.id, (select id from task_types where tenant_id = ${tenantId} and key = 'task'),
      'work ' || n, 'done', 'terminal_success', 2, '{"kind":"human","evidence":[]}', ${admin.principalId}::uuid,
      now() - n * 184.0 / ${2 * tasks} * interval '1 day' - interval '5 hours',
      now() - n * 184.0 / ${2 * tasks} * interval '1 day'
    from generate_series(1, ${2 * tasks}::integer) n join places p on p.n = n % ${workspaces}::integer`);
  await tx.run(sql`
    insert into claims (id, tenant_id, task_id, session_id, holder_id, fencing_token, acquired_at, expires_at, released_at, status,
      release_reason)
    select gen_random_uuid(), t.tenant_id, t.id, gen_random_uuid(), h.id, 1, t.created_at + interval '1 hour',
      t.completed_at + interval '5 minutes', t.completed_at, case when t.public_number % 100 = 0 then 'stale' else 'released' end,
      case when t.public_number % 100 = 0 then 'expired' else 'completed' end
    from tasks t join holders h on h.n = t.public_number % ${principals}::integer where t.tenant_id = ${tenantId}`);
  await tx.run(sql`
    insert into runs (id, tenant_id, task_id, claim_id, principal_id, session_id, fencing_token, attempt, status, started_at,
      finished_at, action_count, input_tokens, output_tokens, costs)
    select gen_random_uuid(), tenant_id, task_id, id, holder_id, session_id, 1, 1, 'succeeded', acquired_at, released_at, 3, 3000,
      300, '{"USD": 30000}' from claims`);
  await tx.run(sql`
    insert into run_actions (id, tenant_id, run_id, task_id, principal_id, session_id, seq, action, status, metadata, data_bytes,
      input_tokens, output_tokens, cost_micros, currency, created_at, finished_at)
    select gen_random_uuid(), tenant_id, id, task_id, principal_id, session_id, seq, 'think', 'completed', '{}', 2, 1000, 100, 10000,
      'USD', started_at + seq * interval '1 hour', started_at + seq * interval '1 hour'
    from runs, generate_series(1, 3) seq`);
  await tx.run(sql`
    insert into approvals (id, tenant_id, task_id, requested_by_principal_id, assigned_principal_id, gate, status, created_at,
      decision_by_principal_id, decision_at)
    select gen_random_uuid(), tenant_id, id, created_by, created_by, false, 'approved', created_at, created_by, completed_at
    from tasks where tenant_id = ${tenantId}`);
}

const date = (daysAgo: number) => new Date(Date.now() - daysAgo * dayMs).toISOString().slice(0, 10);

for (const path of [
  '/statistics/work',
  '/statistics/waits',
  '/statistics/leases',
  '/statistics/usage?groupBy=principal',
  '/statistics/usage?groupBy=workspace',
  '/statistics/usage?groupBy=week',
])
  for (const [who, days] of [
    ['everybody', 92],
    ['a person who sees half of it', 92],
    ['everybody', 30],
    ['everybody', 7],
  ] as const)
    test(`${path} for ${who} of ${days} days with 100,000 tasks in 92 days`, async (t) => {
      const by = who === 'everybody' ? baton.admin : person;
      const address = `${path}${path.includes('?') ? '&' : '?'}from=${date(days - 1)}&to=${date(0)}`;
      const began = performance.now();
      const { status } = await by.get(address);
      const tookMs = performance.now() - began;
      t.diagnostic(`${path} ${who} ${days} days: ${Math.round(tookMs)} ms`);
      assert.equal(status, 200);
      assertTookLess(began, msMax);
    });

test('a day of strips among 200,000 claims', async (t) => {
  for (const daysAgo of [1, 60, 180]) {
    const period = `from=${date(daysAgo)}&to=${date(daysAgo - 1)}`;
    const began = performance.now();
    const { status, body } = await baton.admin.get(`/statistics/holdings?${period}`);
    const tookMs = performance.now() - began;
    t.diagnostic(`${daysAgo} days ago: ${Math.round(tookMs)} ms, ${body.items?.length} claims`);
    assert.equal(status, 200);
    assertTookLess(began, msMax);
  }
});
