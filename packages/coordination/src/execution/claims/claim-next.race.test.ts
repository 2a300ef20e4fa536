import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { byDepth } from '@baton/testing/depth';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, makeWorker, type Worker } from '../../testing/leases.ts';

const rivals = 16;
const tasks = byDepth(320, 800);

let baton: TestCoordination;
let workers: Worker[];
before(async () => {
  baton = await startCoordination();
  workers = await Promise.all(Array.from({ length: rivals }, () => makeWorker(baton)));
});
after(() => baton.close());

/** Inserts open tasks directly into the database: creating them over HTTP would take most of the test's time. */
async function fill(count: number, priority: number): Promise<void> {
  const { tenantId, admin } = baton;
  await baton.pool.run(sql`
    insert into tasks (id, tenant_id, public_number, type_id, title, status, category, priority, origin, created_by)
    select gen_random_uuid(), ${tenantId}, nextval(task_numbers(${tenantId})::regclass),
      (select id from task_types where tenant_id = ${tenantId} limit 1), 'wanted', 'todo', 'active', ${priority}, '{"kind":"harness","evidence":[]}',
      ${admin.principalId}
    from generate_series(1, ${count}::integer)`);
}

async function drain({ actor, sessionId }: Worker, count: number): Promise<any[]> {
  const got: any[] = [];
  for (;;) {
    const { items } = await done(actor.post('/work:claim-next', { sessionId, count }));
    if (items.length === 0) return got;
    got.push(...items);
  }
}

/** For each claimed task of a priority, the tokens of its claims, in order, and the number of active ones. */
async function claimsOf(priority: number) {
  return baton.pool.rows<{ id: string; tokens: string[]; active: number }>(sql`
    select t.id, array_agg(c.fencing_token order by c.acquired_at, c.fencing_token)::text[] as tokens,
      count(*) filter (where c.status = 'active')::integer as active
    from tasks t join claims c on c.task_id = t.id where t.priority = ${priority} group by t.id`);
}

for (const [priority, count] of [
  [0, 1],
  [1, 10],
  [2, 100],
] as const)
  test(`${rivals} rivals in batches of ${count}: each task is claimed once, and none is refused or left over`, async () => {
    await fill(tasks, priority);
    const got = (await Promise.all(workers.map((worker) => drain(worker, count)))).flat();
    assert.equal(got.length, tasks);
    assert.equal(new Set(got.map(({ task }) => task.id)).size, tasks);
    const claims = await claimsOf(priority);
    assert.equal(claims.length, tasks);
    for (const { tokens, active } of claims) assert.deepEqual([tokens, active], [['1'], 1]);
    const left = await baton.pool.row<{ rows: number }>(
      sql`select count(*)::integer as rows from work_queue`,
    );
    assert.deepEqual(left, { rows: 0 });
  });

test('with concurrent :claim, releases and dead claims: never two live claims, consecutive tokens, and no lost task', async () => {
  const priority = 3;
  await fill(60, priority);
  const ids = (
    await baton.pool.rows<{ id: string }>(sql`select id from tasks where priority = ${priority}`)
  ).map(({ id }) => id);
  const rounds = byDepth(6, 50);
  await Promise.all(
    workers.map(async ({ actor, sessionId }, index) => {
      for (let round = 0; round < rounds; round += 1) {
        const held: string[] = [];
        if (index % 2 === 0) {
          const { items } = await done(actor.post('/work:claim-next', { sessionId, count: 5 }));
          held.push(...items.map(({ claim }: any) => claim.id));
        } else
          for (const at of [0, 1, 2]) {
            const id = ids[(index * 7 + round * 3 + at * 11) % ids.length];
            const { status, body } = await actor.post(`/tasks/${id}:claim`, { sessionId });
            if (status === 200) held.push(body.id);
            else assert.equal(body.error.code, 'task_already_claimed');
          }
        for (const [at, id] of held.entries())
          if (at % 3 === 0)
            await baton.pool.run(sql`
              with over as (
                update tasks set lease_expires_at = now() - interval '1 ms' where active_claim_id = ${id} returning id
              )
              update claims set expires_at = now() - interval '1 ms', sweep_at = now() - interval '1 ms'
              from over where claims.id = ${id}`);
          else await done(actor.post(`/claims/${id}:release`, {}));
      }
    }),
  );
  const [first] = workers as [Worker, ...Worker[]];
  assert.equal((await drain(first, 100)).length, ids.length, 'all tasks can be claimed in the end');
  for (const { tokens, active } of await claimsOf(priority)) {
    assert.equal(active, 1);
    assert.deepEqual(
      tokens,
      tokens.map((_, n) => String(n + 1)),
    );
  }
});
