import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { byDepth } from '@baton/testing/depth';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done } from '../../testing/leases.ts';
import {
  humanStep,
  makeProcessAgent,
  makeProcessWorker,
  publishProcess,
  setStep,
  specOf,
  startProcessInstance,
} from '../../testing/processes/process-instances.ts';
import { startProcess } from '../../testing/programs/service-processes.ts';
import { until } from '../../testing/wait-until.ts';

// Tests workers in separate processes, killed with SIGKILL at random moments while instances are running.

const instances = 6;
const kills = byDepth(1, 2);

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

test('each step is done once, regardless of killed workers', { timeout: 120_000 }, async () => {
  const agent = await makeProcessAgent(baton);
  const steps = [
    humanStep('first'),
    { id: 'pause', wait: 'PT0.2S' },
    humanStep('second'),
    setStep('count', { n: 'data.n + 1' }),
  ];
  const key = await publishProcess(baton.admin, specOf(agent.key, steps));
  const ids: string[] = [];
  for (let n = 0; n < instances; n += 1)
    ids.push((await startProcessInstance(baton.admin, key, { n: 0 })).id);
  let isOver = false;
  // A person who completes all open tasks.
  const working = (async () => {
    while (!isOver) {
      const open = await baton.pool.rows<{ id: string; version: number }>(sql`
        select id, version from tasks where origin ->> 'kind' = 'process' and category = 'backlog' or
          (origin ->> 'kind' = 'process' and category = 'active') limit 10`);
      for (const { id, version } of open)
        await baton.admin.post(`/tasks/${id}:complete`, {}, { 'if-match': `task-${version}` });
      await new Promise((over) => setTimeout(over, 20));
    }
  })();
  const ended = async () =>
    (
      await baton.pool.row<{ n: number }>(sql`
      select count(*)::int as n from process_instances where status = 'completed'`)
    )?.n ?? 0;
  for (let life = 0; life < kills; life += 1) {
    const [one, two] = await Promise.all([
      startProcess('worker', baton.env),
      startProcess('worker', baton.env),
    ]);
    await new Promise((over) => setTimeout(over, 200 + Math.random() * 700));
    await Promise.all([one.stop('SIGKILL'), two.stop('SIGKILL')]);
  }
  const last = makeProcessWorker(baton);
  await until(async () => {
    await last.turns.run();
    await last.timers();
    return (await ended()) >= instances;
  }, 'the end of all instances');
  isOver = true;
  await working;
  await last.close();
  assert.equal(await ended(), instances);
  const data = await baton.pool.rows<{ n: string }>(
    sql`select distinct state -> 'data' ->> 'n' as n from process_instances`,
  );
  assert.deepEqual(data, [{ n: '1' }]);
  const tasks = await baton.pool.rows<{ ref: string; n: number }>(sql`
    select origin ->> 'ref' as ref, count(*)::int as n from tasks where origin ->> 'kind' = 'process' group by 1`);
  assert.equal(tasks.length, instances * 2);
  assert.ok(tasks.every(({ n }) => n === 1));
  for (const id of ids) {
    const { items } = await done(baton.admin.get(`/process-instances/${id}/journal?limit=200`));
    assert.deepEqual(
      items.map(({ seq }: any) => seq),
      items.map((_: unknown, n: number) => n + 1),
    );
  }
  const told = await baton.pool.rows<{ type: string; n: number }>(sql`
    select type, count(*)::int as n from events
    where type in ('process.started', 'process.completed', 'process.timer_fired', 'process.data_changed') group by 1 order by 1`);
  assert.deepEqual(
    told.map(({ n }) => n),
    [instances, instances, instances, instances],
  );
});
