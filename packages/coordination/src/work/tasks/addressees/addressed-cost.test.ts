import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import { type Actor, startCoordination, type TestCoordination } from '../../../testing/coordination.ts';
import { done, makeTask, makeWorker, openSession, type Worker } from '../../../testing/leases.ts';
import { agentSpec, linkAgent, publishAgent } from '../../../testing/registry/agents.ts';
import { assertNoMorePages, pagesOfSearches, searchOf } from '../../../testing/work/pages-of-searches.ts';

const addressed = 4000;

let baton: TestCoordination;
let worker: Worker;
before(async () => {
  baton = await startCoordination();
  worker = await makeWorker(baton);
});
after(() => baton.close());

test("tasks with other addressees don't slow down a search for work, and their addressees find them", async () => {
  const ready = await makeTask(baton, { priority: 'low' });
  const search = searchOf(baton, worker.actor.principalId);
  const before = await pagesOfSearches(baton, search);
  const urgent = await makeTask(baton, { priority: 'critical' });
  const { key } = await publishAgent(baton.admin, agentSpec());
  const agent = await linkAgent(baton, key);
  const [person, holder] = [await baton.actor(), await baton.actor()];
  const role = await done(baton.admin.post('/roles', { slug: `r-${newId()}`, name: 'Payers' }), 201);
  await done(baton.admin.post(`/principals/${holder.principalId}/roles`, { roleId: role.id }), 201);
  await baton.pool.run(sql`
    insert into tasks (id, tenant_id, public_number, type_id, title, status, category, priority, origin, created_by, pending_gates)
    select gen_random_uuid(), tenant_id, next_task_number(tenant_id), type_id, (n % 4)::text, status, category, priority,
      origin, created_by, 1
    from tasks, generate_series(1, ${addressed}::integer) n where id = ${urgent.id}`);
  await baton.pool.run(sql`
    insert into task_addressees (task_id, tenant_id, principal_id, agent_key, role_id)
    select id, tenant_id, case title when '0' then ${person.principalId}::uuid end, case title when '1' then ${key} end,
      case title when '2' then ${role.id}::uuid end
    from tasks where title in ('0', '1', '2', '3')`);
  // The tasks enter the queue only now, because rows that have left it are still read until a vacuum.
  await baton.pool.run(sql`
    update tasks t set is_addressed = true, pending_gates = 0 from task_addressees d where d.task_id = t.id`);
  await baton.pool.run(sql`delete from work_queue where task_id = ${urgent.id}`);
  await baton.pool.run(sql`analyze tasks, task_addressees, work_queue`);
  assertNoMorePages(before, await pagesOfSearches(baton, search));
  const titlesOf = async (actor: Actor) => {
    const { items } = await done(actor.get('/work/available?limit=200'));
    return new Set(items.map(({ title }: { title: string }) => title));
  };
  assert.deepEqual(await titlesOf(worker.actor), new Set([ready.title]));
  for (const [n, actor] of [person, agent, holder].entries()) {
    assert.deepEqual(await titlesOf(actor), new Set([String(n)]));
    const sessionId = await openSession(actor);
    const { items } = await done(actor.post('/work:claim-next', { sessionId }));
    assert.equal(items[0].task.title, String(n));
  }
  const { items } = await done(
    worker.actor.post('/work:claim-next', { sessionId: worker.sessionId, count: 5 }),
  );
  assert.deepEqual(
    items.map(({ task }: { task: { id: string } }) => task.id),
    [ready.id],
  );
});
