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
/** Small enough for the timeout of a statement on a busy machine. */
const batch = 5000;
/** A list may take 3 s. */
const msMax = 3000;
const dayMs = 86_400_000;

let baton: TestCoordination;
let person: TestCoordination['admin'];
before(async () => {
  baton = await startCoordination();
  const narrow = await makeNarrowPerson(baton);
  person = narrow.person;
  const places = await fillWorkspaces(baton, narrow.mine.id);
  for (let from = 1; from <= tasks * 1.2; from += batch)
    await baton.pool.transaction((tx) => fill(tx, baton, places, from));
  await baton.pool.run(sql`analyze tasks, claims, runs, run_actions, approvals, workspaces`);
});
after(() => baton.close());

/** Workspaces of which every second one is below `parentId`. @returns their ids */
async function fillWorkspaces({ pool, tenantId }: TestCoordination, parentId: string): Promise<string[]> {
  const made = await pool.rows<{ id: string }>(sql`
    insert into workspaces (id, tenant_id, parent_id, path, type_id, slug, name)
    select made.id, ${tenantId}, case when n % 2 = 0 then up.id end, case when n % 2 = 0 then up.path else '{}' end || made.id, up.type_id,
      'w' || n, 'x'
    from (select n, gen_random_uuid() as id from generate_series(1, ${workspaces}::integer) n) made, workspaces up where up.id = ${parentId}
    returning id`);
  return made.map(({ id }) => id);
}

/**
 * A batch of tasks: 100,000 were completed within the last 92 days and 20,000 before, each with a claim, a run with
 * three actions, and an approval. A hundredth of the leases was lost.
 */
async function fill(
  tx: Db,
  { tenantId, admin }: TestCoordination,
  places: readonly string[],
  from: number,
): Promise<void> {
  // Without foreign keys and triggers, which take most of the time.
  await tx.run(sql`set local session_replication_role = replica`);
  await tx.run(sql`
    insert into tasks (id, tenant_id, public_number, workspace_id, type_id, title, status, category, priority, origin, created_by,
      created_at, completed_at)
    select gen_random_uuid(), ${tenantId}::uuid, 1000 + n, (${places}::uuid[])[1 + n % ${workspaces}::integer],
      (select id from task_types where tenant_id = ${tenantId} and key = 'task'), 'work ' || n, 'done', 'terminal_success', 2,
      '{"kind":"human","evidence":[]}', ${admin.principalId}::uuid,
      now() - n * 92.0 / ${tasks}::integer * interval '1 day' - interval '5 hours', now() - n * 92.0 / ${tasks}::integer * interval '1 day'
    from generate_series(${from}::integer, ${from + batch - 1}::integer) n`);
  const [first, last] = [1000 + from, 1000 + from + batch - 1];
  await tx.run(sql`
    insert into claims (id, tenant_id, task_id, session_id, holder_id, fencing_token, acquired_at, expires_at, released_at, status,
      release_reason)
    select id, tenant_id, id, gen_random_uuid(), md5('holder ' || public_number % ${principals}::integer)::uuid, 1,
      created_at + interval '1 hour', completed_at + interval '5 minutes', completed_at,
      case when public_number % 100 = 0 then 'stale' else 'released' end,
      case when public_number % 100 = 0 then 'expired' else 'completed' end
    from tasks where tenant_id = ${tenantId} and public_number between ${first} and ${last}`);
  await tx.run(sql`
    insert into runs (id, tenant_id, task_id, claim_id, principal_id, session_id, fencing_token, attempt, status, started_at,
      finished_at, action_count, input_tokens, output_tokens, costs)
    select c.id, c.tenant_id, c.task_id, c.id, c.holder_id, c.session_id, 1, 1, 'succeeded', c.acquired_at, c.released_at, 3, 3000, 300,
      '{"USD": 30000}'
    from tasks t join claims c on c.id = t.id where t.tenant_id = ${tenantId} and t.public_number between ${first} and ${last}`);
  await tx.run(sql`
    insert into run_actions (id, tenant_id, run_id, task_id, principal_id, session_id, seq, action, status, metadata, data_bytes,
      input_tokens, output_tokens, cost_micros, currency, created_at, finished_at)
    select gen_random_uuid(), r.tenant_id, r.id, r.task_id, r.principal_id, r.session_id, seq, 'think', 'completed', '{}', 2, 1000, 100,
      10000, 'USD', r.started_at + seq * interval '1 hour', r.started_at + seq * interval '1 hour'
    from tasks t join runs r on r.id = t.id, generate_series(1, 3) seq
    where t.tenant_id = ${tenantId} and t.public_number between ${first} and ${last}`);
  await tx.run(sql`
    insert into approvals (id, tenant_id, task_id, requested_by_principal_id, assigned_principal_id, gate, status, created_at,
      decision_by_principal_id, decision_at)
    select gen_random_uuid(), tenant_id, id, created_by, created_by, false, 'approved', created_at, created_by, completed_at
    from tasks where tenant_id = ${tenantId} and public_number between ${first} and ${last}`);
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

test('a day of strips among 120,000 claims', async (t) => {
  for (const daysAgo of [1, 45, 90]) {
    const period = `from=${date(daysAgo)}&to=${date(daysAgo - 1)}`;
    const began = performance.now();
    const { status, body } = await baton.admin.get(`/statistics/holdings?${period}`);
    const tookMs = performance.now() - began;
    t.diagnostic(`${daysAgo} days ago: ${Math.round(tookMs)} ms, ${body.items?.length} claims`);
    assert.equal(status, 200);
    assertTookLess(began, msMax);
  }
});
