import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { byDepth } from '@baton/testing/depth';
import { startCoordination, type TestCoordination } from '../../../testing/coordination.ts';
import {
  humanStep,
  makeProcessAgent,
  makeProcessWorker,
  publishProcess,
  setStep,
  specOf,
  startProcessInstance,
} from '../../../testing/processes/process-instances.ts';
import { startProcess } from '../../../testing/programs/service-processes.ts';
import { until } from '../../../testing/wait-until.ts';

// Tests several workers that migrate instances at the same time and are killed, while people continue to work.

const instances = byDepth(40, 150);

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

const counted = async () => {
  const row = await baton.pool.row<{ left: number; ended: number }>(sql`
    select count(*) filter (where definition_version = 1 and status = 'running')::int as left,
      count(*) filter (where status = 'completed')::int as ended from process_instances`);
  return row as { left: number; ended: number };
};

test('each instance migrates once, regardless of killed workers, and every input is processed', {
  timeout: 120_000,
}, async () => {
  const [agent, other] = [await makeProcessAgent(baton), await makeProcessAgent(baton)];
  const steps = (n: number) => [
    humanStep('look'),
    setStep('count', { n: `data.n + ${n}` }),
    humanStep('sign'),
  ];
  const key = await publishProcess(baton.admin, specOf(agent.key, steps(1)));
  for (let n = 0; n < instances; n += 1) await startProcessInstance(baton.admin, key, { n: 0 });
  const open = await baton.pool.rows<{ id: string; version: number }>(sql`
    select id, version from tasks where origin ->> 'kind' = 'process'`);
  const migrations = [{ from: 1, to: 2, policy: 'migrate' }];
  const workers = [await startProcess('worker', baton.env), await startProcess('worker', baton.env)];
  await publishProcess(baton.admin, specOf(other.key, steps(10), { version: 2, migrations }), key);
  const working = (async () => {
    for (const { id, version } of open)
      await baton.admin.post(`/tasks/${id}:complete`, {}, { 'if-match': `task-${version}` });
  })();
  for (const worker of workers) {
    await new Promise((over) => setTimeout(over, 60 + Math.random() * 300));
    await worker.stop('SIGKILL');
  }
  const [one, two] = [makeProcessWorker(baton), makeProcessWorker(baton)];
  await until(async () => {
    await Promise.all([one.migrations(), two.migrations()]);
    return (await counted()).left === 0;
  }, 'the migration of all');
  await working;
  await one.run();
  await Promise.all([one.close(), two.close()]);
  assert.equal((await counted()).left, 0);
  const told = await baton.pool.rows<{ n: number }>(sql`
    select count(*)::int as n from events where type = 'process.migrated' group by entity_id`);
  assert.deepEqual([told.length, new Set(told.map(({ n }) => n))], [instances, new Set([1])]);
  // Each instance is counted once, under the version that it had when its first task was completed; its second task is
  // open.
  const states = await baton.pool.rows<{ n: string; rows: number }>(sql`
    select state -> 'data' ->> 'n' as n, count(*)::int as rows from process_instances
    where state -> 'nodes' ? 'sign' group by 1`);
  assert.equal(
    states.reduce((sum, { rows }) => sum + rows, 0),
    instances,
  );
  assert.ok(
    states.every(({ n }) => n === '1' || n === '10'),
    JSON.stringify(states),
  );
  const [tasks] = await baton.pool.rows<{ n: number }>(sql`
    select count(*)::int as n from tasks where origin ->> 'kind' = 'process'`);
  assert.equal(tasks?.n, instances * 2);
  // The second task was created by the agent of the version that opened it.
  const makers = await baton.pool.rows<{ n: string; by: string }>(sql`
      select distinct i.state -> 'data' ->> 'n' as n, t.created_by as by
      from process_instances i join tasks t on t.id = (i.state -> 'nodes' -> 'sign' ->> 'taskId')::uuid`);
  for (const { n, by } of makers) assert.equal(by, n === '1' ? agent.principalId : other.principalId);
  const gaps = await baton.pool.rows(sql`
    select instance_id from process_instance_journal group by instance_id having count(*) <> max(seq)`);
  assert.deepEqual(gaps, []);
});
