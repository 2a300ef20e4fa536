import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { byDepth } from '@baton/testing/depth';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import {
  makeProcessAgent,
  makeProcessWorker,
  publishProcess,
  setStep,
  specOf,
  startProcessInstance,
} from '../../testing/processes/process-instances.ts';
import { startProcess } from '../../testing/programs/service-processes.ts';
import { until } from '../../testing/wait-until.ts';

// Tests workers in separate processes, killed with SIGKILL while processes call each other and write to memory.

const callers = byDepth(4, 8);
const kills = byDepth(1, 3);

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

test('each call is one instance that starts and ends once, regardless of killed workers', {
  timeout: 120_000,
}, async () => {
  const agent = await makeProcessAgent(baton);
  const child = await publishProcess(
    baton.admin,
    specOf(agent.key, [{ id: 'pause', wait: 'PT0.1S' }, setStep('count', { n: 'data.n + 1' })]),
  );
  const call = (id: string) => ({
    id,
    call: { process: child, input: { n: 'data.n' } },
    export: { as: { n: 'step.result.data.n' } },
  });
  const parent = await publishProcess(
    baton.admin,
    specOf(agent.key, [call('one'), call('two'), call('three')]),
  );
  for (let n = 0; n < callers; n += 1) await startProcessInstance(baton.admin, parent, { n: 0 });
  const ended = async () =>
    (
      await baton.pool.row<{ n: number }>(sql`
        select count(*)::int as n from process_instances where status = 'completed' and parent_id is null`)
    )?.n ?? 0;
  for (let life = 0; life < kills; life += 1) {
    const workers = await Promise.all([startProcess('worker', baton.env), startProcess('worker', baton.env)]);
    await new Promise((over) => setTimeout(over, 300 + Math.random() * 900));
    await Promise.all(workers.map((one) => one.stop('SIGKILL')));
  }
  const last = makeProcessWorker(baton);
  await until(async () => {
    await last.orders();
    await last.turns.run();
    await last.timers();
    return (await ended()) >= callers;
  }, 'the end of all instances');
  await last.close();
  assert.equal(await ended(), callers);
  const data = await baton.pool.rows(sql`
    select distinct state -> 'data' ->> 'n' as n from process_instances where parent_id is null`);
  assert.deepEqual(data, [{ n: '3' }]);
  const told = await baton.pool.rows<{ type: string; n: number }>(sql`
    select type, count(*)::int as n from events where type in ('process.started', 'process.completed') group by 1`);
  assert.deepEqual(
    told.map(({ n }) => n),
    [callers * 4, callers * 4],
  );
  assert.deepEqual(await baton.pool.rows(sql`select instance_id from process_orders`), []);
});

test('each remember step writes one observation, regardless of killed workers', {
  timeout: 120_000,
}, async () => {
  const agent = await makeProcessAgent(baton);
  const steps = [1, 2, 3].map((n) => ({
    id: `tell-${n}`,
    remember: { kind: 'told.once', content: `Step ${n} of {{ instance.key }}` },
  }));
  const key = await publishProcess(baton.admin, specOf(agent.key, steps));
  for (let n = 0; n < callers; n += 1) await startProcessInstance(baton.admin, key);
  for (let life = 0; life < kills; life += 1) {
    const workers = await Promise.all([startProcess('worker', baton.env), startProcess('worker', baton.env)]);
    await new Promise((over) => setTimeout(over, 100 + Math.random() * 500));
    await Promise.all(workers.map((one) => one.stop('SIGKILL')));
  }
  const last = makeProcessWorker(baton);
  await last.run();
  await last.close();
  const rows = await baton.pool.rows<{ content: string; n: number }>(sql`
    select payload ->> 'content' as content, count(*)::int as n from events
    where type = 'observation.recorded' and payload ->> 'kind' = 'told.once' group by 1`);
  assert.equal(rows.length, callers * 3);
  assert.ok(rows.every(({ n }) => n === 1));
  const open = await baton.pool.rows(sql`
    select id from process_instances where definition_key = ${key} and status <> 'completed'`);
  assert.deepEqual(open, []);
});
