import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, eventsOf, makeTask } from '../../testing/leases.ts';
import { journalIsStable, writeEvents } from '../../testing/ledger/journal-writer.ts';
import { makeTenant } from '../../testing/ledger/retention.ts';
import { makeNarrowPerson } from '../../testing/organisation/workspaces.ts';
import {
  evaluationsOf,
  makeRule,
  makeRuleWorker,
  observe,
  observed,
  ruleBody,
} from '../../testing/rules/rules.ts';
import { ruleConsumer } from '../catalog/rules.ts';
import { runRules } from './rule-jobs.ts';

let baton: TestCoordination;
let worker: ReturnType<typeof makeRuleWorker>;
before(async () => {
  baton = await startCoordination();
  worker = makeRuleWorker(baton);
});
after(async () => {
  await worker.close();
  await baton.close();
});

const kind = () => `k-${newId()}`;
const manyNumbers = Array.from({ length: 4900 }, (_, n) => n);
const isListed = (value: number) => ({ in: [{ const: value }, { var: 'payload.data.list' }] });

async function resultOf(type: string, action: object, data: object) {
  const rule = await makeRule(baton.admin, { trigger: observed(type), action });
  await observe(baton.admin, type, data);
  const cpu = process.cpuUsage();
  await worker.run();
  const { user } = process.cpuUsage(cpu);
  const [evaluation] = await evaluationsOf(baton.admin, rule.id);
  return { evaluation, cpuMs: user / 1000 };
}

test('the items of a cause share the steps of their condition: a list does not block the worker for seconds', async () => {
  const type = kind();
  const dedupKeyTemplate = `${type}-{{ item }}`;
  const forEach = 'payload.data.list';
  const costly = { or: Array.from({ length: 19 }, () => isListed(-1)) };
  const list = { list: manyNumbers };
  const { evaluation } = await resultOf(type, { forEach, where: costly, dedupKeyTemplate }, list);
  assert.deepEqual(
    [evaluation.status, evaluation.error.code, evaluation.error.details],
    ['failed', 'rule_condition_error', { message: 'the condition takes too many steps' }],
  );
  const simple = { and: [{ ge: [{ var: 'item' }, 4898] }, isListed(1)] };
  const chosen = await resultOf(kind(), { forEach, where: simple, dedupKeyTemplate }, list);
  assert.equal(chosen.evaluation.createdTaskIds.length, 2);
});

test('custom fields are rendered only up to the size limit of a document', async () => {
  const type = kind();
  const customFields = { all: Array.from({ length: 4000 }, () => '{{ payload }}') };
  const list = Array.from({ length: 4000 }, (_, n) => `text ${n}`);
  const { evaluation, cpuMs } = await resultOf(
    type,
    {
      forEach: 'payload.data.items',
      dedupKeyTemplate: `${type}-{{ item }}`,
      fields: { title: 'All of it', customFields },
    },
    { items: [1, 2], list },
  );
  assert.deepEqual(
    evaluation.result.work.map((item: any) => item.refused),
    ['payload_too_large', 'payload_too_large'],
  );
  // Without the limit, this took 7,000 ms and 700 MB.
  assert.ok(cpuMs < 2500, `${cpuMs} ms`);
});

test('a dry run ends after a second with the results so far', async () => {
  const type = kind();
  const causes = 100;
  const list = Array.from({ length: 1600 }, (_, n) => ({ n: n / 7, on: 'x' }));
  for (let n = 0; n < causes; n += 1) await observe(baton.admin, type, { list });
  const texts = Array.from({ length: 32 }, () => '{{ payload }} and more');
  const body = ruleBody({
    trigger: observed(type),
    action: {
      forEach: 'payload.data.list',
      where: { lt: [{ var: 'item.n' }, 7] },
      dedupKeyTemplate: `${type}-{{ item }}`,
      fields: { title: '{{ payload }}', description: '{{ payload }}', customFields: { texts } },
    },
  });
  await journalIsStable(baton.pool);
  const cpu = process.cpuUsage();
  const { results } = await done(baton.admin.post('/rules:dry-run', { ...body, limit: causes }));
  const perCauseMs = process.cpuUsage(cpu).user / 1000 / results.length;
  assert.ok(results.length > 0);
  assert.ok(
    results.length < causes || perCauseMs * causes < 2000,
    `${results.length}, ${perCauseMs} ms each`,
  );
});

test('a caller who does not see the open task of a key gets only its existence', async () => {
  const type = kind();
  const { person, mine, other } = await makeNarrowPerson(baton);
  const action = { dedupKeyTemplate: type, fields: { title: 'One of it' } };
  const first = await makeRule(baton.admin, { trigger: observed(type), action, workspaceId: other.id });
  await observe(baton.admin, type, {});
  await worker.run();
  const [filed] = await evaluationsOf(baton.admin, first.id);
  const [taskId] = filed.createdTaskIds;
  const rule = await makeRule(person, { trigger: observed(type), action, workspaceId: mine.id });
  await observe(baton.admin, type, {});
  await worker.run();
  const [evaluation] = await evaluationsOf(person, rule.id);
  assert.deepEqual(
    [evaluation.status, evaluation.result.work[0].taskId, evaluation.result.work[0].created],
    ['matched', null, false],
  );
  const evaluated = (await eventsOf(baton, rule.id)).find((event) => event.type === 'rule.evaluated');
  assert.ok(!JSON.stringify(evaluated?.payload).includes(taskId));
});

test('tenants whose turns fail do not delay the turns of others', async () => {
  const type = kind();
  await makeRule(baton.admin, { trigger: observed(type) });
  const ill: string[] = [];
  for (let n = 0; n < 20; n += 1) {
    const tenantId = await makeTenant(baton.pool);
    ill.push(tenantId);
    await baton.pool.run(sql`
      insert into event_consumers (tenant_id, consumer) values (${tenantId}, ${ruleConsumer})`);
    await writeEvents(baton.pool, tenantId, [{}]);
  }
  const served: string[] = [];
  const { tools } = worker;
  const { run } = runRules({
    ...tools,
    async command(job, tenantId, work) {
      if (ill.includes(tenantId)) throw new Error('this turn breaks');
      served.push(tenantId);
      return tools.command(job, tenantId, work);
    },
  });
  await observe(baton.admin, type, {});
  await journalIsStable(baton.pool);
  await run();
  await run();
  assert.ok(served.includes(baton.admin.tenantId));
});

test('a task with the maximum evidence refuses more, but delays no event', async () => {
  const type = kind();
  const acceptance = [{ key: 'deployed', kind: 'external_state', description: 'It runs.' }];
  const evidence = Array.from({ length: 200 }, (_, n) => ({
    kind: 'external',
    externalRef: { system: 'ci', id: `${type}-${n}` },
  }));
  const target = await makeTask(baton, { acceptance, evidence });
  const rule = await makeRule(baton.admin, {
    trigger: observed(type, { actorId: baton.admin.principalId }),
    action: {
      kind: 'complete_work',
      target: 'task',
      check: 'deployed',
      taskType: undefined,
      fields: undefined,
    },
  });
  await observe(baton.admin, type, {}, { task: target.id });
  await worker.run();
  const [evaluation] = await evaluationsOf(baton.admin, rule.id);
  assert.deepEqual(
    [evaluation?.error.code, evaluation?.result.work[0].refused],
    ['work_items_refused', 'invalid_evidence'],
  );
});
