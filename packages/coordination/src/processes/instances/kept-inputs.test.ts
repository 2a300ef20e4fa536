import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { assertTookLess, byDepth } from '@baton/testing/depth';
import { newId } from '@baton/values/ids';
import { done } from '../../testing/leases.ts';
import {
  humanStep,
  makeProcessWorker,
  publishProcess,
  specOf,
  startProcesses,
  startProcessInstance,
} from '../../testing/processes/process-instances.ts';
import { startProcess } from '../../testing/programs/service-processes.ts';
import { observe } from '../../testing/rules/rules.ts';
import { until } from '../../testing/wait-until.ts';

// Tests the inputs that a suspended instance stores, and their order after it is resumed.

const { baton, worker, agent, get, act, complete } = await startProcesses();

/**
 * An instance that counts observations of a kind and waits for a task. The events of its task have already been
 * processed.
 */
async function startCounting() {
  const kind = `k-${newId()}`;
  const count = { n: 'data.n + 1', last: 'event.payload.data.i' };
  const more = { correlate: [{ on: { observation: kind }, key: 'event.payload.data.key', set: count }] };
  const process = await publishProcess(baton.admin, specOf(agent.key, [humanStep('a')], more));
  const made = await startProcessInstance(baton.admin, process, { n: 0, last: 0 }, 'one');
  const send = async (from: number, to: number) => {
    for (let i = from; i <= to; i += 1) await observe(baton.admin, kind, { key: 'one', i });
  };
  await worker.run();
  return { id: made.id as string, taskId: made.openElements[0].taskId as string, send };
}

/** The order in which an instance has counted observations. */
async function countedBy(id: string): Promise<unknown[]> {
  const rows = await baton.pool.rows<{ last: number }>(sql`
    select (data ->> 'last')::int as last from process_instance_journal
    where instance_id = ${id} and kind = 'data' order by seq`);
  return rows.map(({ last }) => last);
}
const upTo = (n: number) => Array.from({ length: n }, (_, i) => i + 1);

test('a resume returns immediately, and the worker processes the stored inputs in small batches and in order', async () => {
  const { id, send } = await startCounting();
  await act(id, 'suspend', { reason: 'holiday' });
  await send(1, 45);
  await worker.run();
  assert.deepEqual((await get(id)).kept, { inputs: 45, passedOver: 0 });
  const resumed = await act(id, 'resume', {});
  assert.deepEqual([resumed.status, resumed.data.n, resumed.kept.inputs], ['running', 0, 45]);
  await send(46, 47);
  await worker.turns.run();
  const left = [(await get(id)).kept.inputs];
  for (let slice = 0; slice < 20 && left.at(-1) !== 0; slice += 1) {
    await worker.care();
    left.push((await get(id)).kept.inputs);
  }
  assert.ok(left.every((inputs, n) => n === 0 || left[n - 1] - inputs <= 20));
  await worker.run();
  assert.deepEqual(await countedBy(id), upTo(47));
  assert.deepEqual((await get(id)).data, { n: 47, last: 47 });
  const due = await baton.pool.row(sql`select attend_at from process_instances where id = ${id}`);
  assert.deepEqual(due, { attend_at: null });
});

test('of concurrent resumes one succeeds, and two workers deliver each input once', async () => {
  const { id, send } = await startCounting();
  await act(id, 'suspend', { reason: 'holiday' });
  await send(1, 30);
  await worker.run();
  const answers = await Promise.all(
    upTo(5).map(() => baton.admin.post(`/process-instances/${id}:resume`, {})),
  );
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409, 409, 409, 409]);
  const other = makeProcessWorker(baton);
  let sent = 30;
  while ((await get(id)).kept.inputs > 0) {
    sent += 1;
    await Promise.all([worker.care(), other.care(), send(sent, sent)]);
  }
  await worker.run();
  await other.close();
  assert.deepEqual(await countedBy(id), upTo(sent));
});

test('stored inputs are also processed when the instance is cancelled, and the compensation continues', async () => {
  const undo = { ...humanStep('did'), onCompensate: [{ id: 'undo', wait: 'PT0.1S' }] };
  const process = await publishProcess(baton.admin, specOf(agent.key, [undo, humanStep('b')]));
  const made = await startProcessInstance(baton.admin, process);
  await complete(made.openElements[0].taskId);
  await worker.run();
  await act(made.id, 'suspend', { reason: 'holiday' });
  await complete((await get(made.id)).openElements[0].taskId);
  await worker.run();
  const cancelling = await act(made.id, 'cancel', { reason: 'no more' });
  assert.deepEqual([cancelling.status, cancelling.openElements[0].id], ['running', 'undo']);
  await worker.run();
  await worker.fire(made.id);
  await new Promise((over) => setTimeout(over, 150));
  await worker.fire(made.id);
  await worker.run();
  assert.equal((await get(made.id)).status, 'cancelled');
});

test('a suspended instance skips inputs beyond a thousand, and records it; the end of its task is always stored', async () => {
  const { id, taskId, send } = await startCounting();
  await act(id, 'suspend', { reason: 'holiday' });
  await send(1, 1);
  await worker.run();
  await baton.pool.run(sql`
    insert into process_inputs (instance_id, source_ref, tenant_id, held)
    select instance_id, 'event:' || md5('e' || n)::uuid, tenant_id, held
    from process_inputs, generate_series(2, 1000) n where instance_id = ${id} and held is not null`);
  await baton.pool.run(sql`update process_instances set kept_inputs = 1000 where id = ${id}`);
  await send(2, 4);
  await worker.run();
  assert.deepEqual((await get(id)).kept, { inputs: 1000, passedOver: 3 });
  await done(baton.admin.patch(`/tasks/${taskId}`, { title: 'Another title' }, { 'if-match': 'task-1' }));
  await worker.run();
  await done(baton.admin.post(`/tasks/${taskId}:complete`, {}, { 'if-match': 'task-2' }));
  await worker.run();
  const full = (await get(id)).kept;
  assert.equal(full.inputs, 1001);
  const startedMs = performance.now();
  const resumed = await act(id, 'resume', {});
  assertTookLess(startedMs, 3000);
  assert.deepEqual([resumed.data.n, resumed.kept], [0, { inputs: 1001, passedOver: 0 }]);
  // Processing a thousand inputs takes seconds, so all are deleted except the two that the test itself sent.
  await baton.pool.run(sql`delete from process_inputs where instance_id = ${id} and source_ref in (
    select 'event:' || md5('e' || n)::uuid from generate_series(2, 1000) n)`);
  await baton.pool.run(sql`update process_instances set kept_inputs = 2 where id = ${id}`);
  await worker.run();
  const ended = await get(id);
  assert.deepEqual([ended.status, ended.data.n], ['completed', 1]);
  const { items } = await done(baton.admin.get(`/process-instances/${id}/journal?kind=input&limit=200`));
  const told = items.filter(({ reason }: any) => reason === 'passed_over').map(({ data }: any) => data);
  assert.match(told[0].from, /^event:/);
  assert.deepEqual(told.slice(1), [{ inputs: full.passedOver }]);
});

test('workers that are killed while an instance catches up process each input once', {
  timeout: 120_000,
}, async () => {
  const { id, send } = await startCounting();
  await act(id, 'suspend', { reason: 'holiday' });
  await send(1, 60);
  await worker.run();
  await act(id, 'resume', {});
  for (let life = 0; life < byDepth(1, 2); life += 1) {
    const killed = await startProcess('worker', baton.env);
    await new Promise((over) => setTimeout(over, 100 + Math.random() * 400));
    await killed.stop('SIGKILL');
  }
  await until(async () => {
    await worker.care();
    return (await get(id)).kept.inputs === 0;
  }, 'all inputs');
  assert.deepEqual(await countedBy(id), upTo(60));
});
