import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { sql } from '@baton/kernel/database/sql';
import { startProcesses, startProcessInstance } from '../../testing/processes/process-instances.ts';
import { fireProcessTimers } from './process-jobs.ts';

// Tests timers that are due within seconds, with the worker's real pauses. `npm run bench` measures ten thousand.

const timers = 300;
const withinMs = 3000;
const lateMsMax = 2000;
const startsAtOnce = 8;

const { baton, worker, publish } = await startProcesses();
const job = fireProcessTimers(worker.tools);

/** Measures by how much longer than usual trivial requests take on this machine, in total. */
function watchMachine() {
  let [isOver, stalledMs] = [false, 0];
  const watching = (async () => {
    while (!isOver) {
      const began = performance.now();
      await pause(50);
      await baton.pool.run(sql`select 1`);
      stalledMs += Math.max(0, performance.now() - began - 100);
    }
  })();
  return async () => {
    isOver = true;
    await watching;
    return stalledMs;
  };
}

test('three hundred timers that are due within three seconds fire at most two seconds late, each once', {
  timeout: 60_000,
}, async () => {
  const process = await publish([{ id: 'w', wait: 'PT1H' }], {});
  const waiting = Array.from({ length: timers }, (_, n) => `k-${n}`);
  const startAll = async () => {
    for (let key = waiting.shift(); key !== undefined; key = waiting.shift())
      await startProcessInstance(baton.admin, process, {}, key);
  };
  await Promise.all(Array.from({ length: startsAtOnce }, startAll));
  // The due times are stored in rows and in the state, so the test moves both.
  await baton.pool.run(sql`
    with due as (
      select id, instance_id, date_trunc('milliseconds', clock_timestamp()) + make_interval(secs => 0.5 +
        row_number() over (order by id) * ${withinMs / timers / 1000}::float8) as due_at from process_timers
    ), rows as (
      update process_timers t set due_at = d.due_at from due d where t.id = d.id
    )
    update process_instances i set state = jsonb_set(state, array['timers', d.id::text, 'dueAt'],
      to_jsonb(to_char(d.due_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')))
    from due d where d.instance_id = i.id`);
  const stalled = watchMachine();
  const left = async () =>
    (await baton.pool.row<{ n: number }>(sql`select count(*)::int as n from process_timers`))?.n ?? 0;
  while ((await left()) > 0) if ((await job.run()) < job.batchMax) await pause(job.pauseMsMax ?? lateMsMax);
  const stalledMs = await stalled();
  const fired = await baton.pool.rows<{ instance_id: string; late_ms: number }>(sql`
    select e.entity_id as instance_id,
      extract(epoch from i.completed_at - (e.payload ->> 'dueAt')::timestamptz)::float8 * 1000 as late_ms
    from events e join process_instances i on i.id = e.entity_id where e.type = 'process.timer_fired'`);
  assert.deepEqual([fired.length, new Set(fired.map((one) => one.instance_id)).size], [timers, timers]);
  const latest = Math.max(...fired.map(({ late_ms }) => late_ms));
  assert.ok(Math.min(...fired.map(({ late_ms }) => late_ms)) >= 0);
  assert.ok(
    latest < lateMsMax + stalledMs,
    `${latest} ms late, of which the machine stalled ${stalledMs} ms`,
  );
});
