import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { byDepth } from '@baton/testing/depth';
import { newId } from '@baton/values/ids';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { startProcess } from '../../testing/programs/service-processes.ts';
import { makeRule, makeRuleWorker, observe, observed, slowDownTasks } from '../../testing/rules/rules.ts';
import { until } from '../../testing/wait-until.ts';

// Tests workers in separate processes, killed with SIGKILL at random moments while causes arrive.

const kills = byDepth(1, 3);
const causesMax = 300;
const hosts = 3;
/** Each of these items takes a tenth of a second, so that a turn leaves some of them for the next. */
const slowEach = 60;
const slowItems = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
  await slowDownTasks(baton, 0.1);
});
after(() => baton.close());

async function evaluated(): Promise<number> {
  const found = await baton.pool.row<{ n: number }>(sql`select count(*)::int as n from rule_evaluations`);
  return found?.n ?? 0;
}

test('each rule acts exactly once on each cause, regardless of killed workers', async () => {
  const type = `k-${newId()}`;
  const perCause = await makeRule(baton.admin, {
    trigger: observed(type),
    action: { dedupKeyTemplate: `${type}-{{ trigger.eventId }}-{{ item }}`, forEach: 'payload.data.hosts' },
  });
  const perHost = await makeRule(baton.admin, {
    trigger: observed(type),
    condition: { eq: [{ var: 'payload.data.even' }, true] },
    action: { dedupKeyTemplate: `${type}-{{ payload.data.host }}` },
  });
  const perItem = await makeRule(baton.admin, {
    trigger: observed(type),
    action: {
      forEach: 'payload.data.slow',
      dedupKeyTemplate: `${type}-{{ trigger.eventId }}-slow-{{ item }}`,
      fields: { title: 'slow {{ item }}' },
    },
  });
  const causes: string[] = [];
  let isOver = false;
  const sending = (async () => {
    while (!isOver && causes.length < causesMax) {
      const n = causes.length;
      const data = {
        even: n % 2 === 0,
        host: `h${n % hosts}`,
        hosts: ['a', 'b'],
        slow: n % slowEach === 0 ? slowItems : [],
      };
      causes.push((await observe(baton.admin, type, data)).eventId);
      await new Promise((done) => setTimeout(done, 30));
    }
  })();
  const lives = [0, 1].map(async (first) => {
    for (let life = first; life < kills; life += 2) {
      const worker = await startProcess('worker', { ...baton.env, CP_RULES_BATCH_SIZE: '10' });
      const before = await evaluated();
      await until(async () => (await evaluated()) > before, 'a turn of a worker');
      await new Promise((done) => setTimeout(done, Math.random() * 150));
      await worker.stop('SIGKILL');
    }
  });
  await Promise.all(lives);
  isOver = true;
  await sending;
  const left = causes.length * 3 - (await evaluated());
  const last = makeRuleWorker(baton);
  await last.run();
  await last.close();
  assert.ok(left > 0, 'no work is left');
  const refs = causes.map((id) => `event:${id}`).sort();
  for (const { id } of [perCause, perHost, perItem]) {
    const rows = await baton.pool.rows<{ trigger_ref: string; status: string }>(sql`
      select trigger_ref, status from rule_evaluations where rule_id = ${id}`);
    assert.deepEqual(rows.map((row) => row.trigger_ref).sort(), refs);
    assert.ok(rows.every(({ status }) => status === 'matched' || status === 'not_matched'));
    const told = await baton.pool.rows<{ ref: string }>(sql`
      select payload ->> 'triggerRef' as ref from events where type = 'rule.evaluated' and entity_id = ${id}`);
    assert.deepEqual(told.map((row) => row.ref).sort(), refs);
  }
  const filed = await baton.pool.rows<{ rule: string; n: number; derived: number }>(sql`
    select rule, count(*)::int as n, (
      select count(*)::int from events e
      where e.type = 'work.derived' and e.payload ->> 'created' = 'true' and e.payload ->> 'ruleId' = rule) as derived
    from (select origin ->> 'ruleId' as rule from tasks where origin ->> 'kind' = 'rule') as derived_tasks
    group by rule`);
  const counts = Object.fromEntries(filed.map(({ rule, n, derived }) => [rule, [n, derived]]));
  const slowFiled = Math.ceil(causes.length / slowEach) * slowItems.length;
  assert.deepEqual(counts, {
    [perCause.id]: [causes.length * 2, causes.length * 2],
    [perHost.id]: [hosts, hosts],
    [perItem.id]: [slowFiled, slowFiled],
  });
});
