import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { claimTask, done, eventsOf, makeWorker } from '../../testing/leases.ts';
import { journalIsStable } from '../../testing/ledger/journal-writer.ts';
import { claimCall, makeCallable } from '../../testing/results/invocations.ts';
import {
  evaluationsOf,
  makeRule,
  makeRuleWorker,
  observe,
  observed,
  slowDownTasks,
} from '../../testing/rules/rules.ts';
import { continuePendingEvaluations } from './rule-jobs.ts';

// Tests long-running rules: many items, long waits, and many pending evaluations.

let baton: TestCoordination;
let worker: ReturnType<typeof makeRuleWorker>;
before(async () => {
  baton = await startCoordination();
  worker = makeRuleWorker(baton);
  await slowDownTasks(baton, 0.1);
});
after(async () => {
  await worker.close();
  await baton.close();
});
beforeEach(async () => {
  await baton.pool.run(
    sql`update rules set status = 'disabled', next_run_at = null where status = 'enabled'`,
  );
  await baton.pool.run(sql`update rule_evaluations set next_check_at = null where next_check_at is not null`);
  await worker.run();
});

const kind = () => `k-${newId()}`;
const names = Array.from({ length: 12 }, (_, n) => `item-${n}`);
const slowly = (type: string) => ({
  forEach: 'payload.data.names',
  dedupKeyTemplate: `${type}-{{ trigger.eventId }}-{{ item }}`,
  fields: { title: 'slow {{ item }} of {{ payload.data.host }}' },
});
const only = async (ruleId: string) => (await evaluationsOf(baton.admin, ruleId))[0];
const titlesOf = async (ruleId: string) =>
  (
    await baton.pool.rows<{ title: string }>(sql`
      select title from tasks where origin ->> 'ruleId' = ${ruleId} order by id`)
  ).map(({ title }) => title);

test('items of later turns keep their own keys without a template', async () => {
  const type = kind();
  const { dedupKeyTemplate: _, ...action } = slowly(type);
  const rule = await makeRule(baton.admin, { trigger: observed(type), action });
  const { eventId } = await observe(baton.admin, type, { names, host: 'db1' });
  await journalIsStable(baton.pool);
  await worker.turns.run();
  assert.equal((await only(rule.id)).result.waitingFor, 'turn');
  await worker.run();
  const { result, createdTaskIds } = await only(rule.id);
  assert.equal(createdTaskIds.length, names.length);
  assert.deepEqual(
    result.work.map(({ dedupKey }: any) => dedupKey),
    names.map((_name, index) => `rule:${rule.key}:event:${eventId}:${index + 1}`),
  );
});

test('items that take too long for one transaction are processed in the next turns, before later events', async () => {
  const type = kind();
  const rule = await makeRule(baton.admin, { trigger: observed(type), action: slowly(type) });
  const later = await makeRule(baton.admin, { trigger: observed(`${type}.later`) });
  await observe(baton.admin, type, { names, host: 'db1' });
  await observe(baton.admin, `${type}.later`);
  await journalIsStable(baton.pool);
  await worker.turns.run();
  const first = await only(rule.id);
  assert.deepEqual([first.status, first.result.waitingFor], ['waiting', 'turn']);
  const doneAtFirst = first.createdTaskIds.length;
  assert.ok(doneAtFirst >= 1 && doneAtFirst < names.length, String(doneAtFirst));
  assert.equal(first.result.work.length, doneAtFirst);
  assert.equal(await only(later.id), undefined);
  await worker.run();
  const last = await only(rule.id);
  assert.deepEqual([last.id, last.status, last.result.waitingFor], [first.id, 'matched', undefined]);
  assert.equal(last.createdTaskIds.length, names.length);
  assert.deepEqual(
    await titlesOf(rule.id),
    names.map((name) => `slow ${name} of db1`),
  );
  assert.equal((await only(later.id)).status, 'matched');
  const told = (await eventsOf(baton, rule.id)).filter((event) => event.type === 'rule.evaluated');
  assert.deepEqual(
    told.map(({ payload }) => (payload['work'] as unknown[]).length),
    [names.length],
  );
});

test('remaining items are skipped after the rule was changed, or if its authority may no longer read tasks', async () => {
  const author = await baton.actor({ kind: 'human' });
  const type = kind();
  const trigger = observed(type);
  const changed = await makeRule(author, { trigger, action: slowly(type) });
  await observe(baton.admin, type, { names, host: 'db1' });
  await journalIsStable(baton.pool);
  await worker.turns.run();
  const before = await only(changed.id);
  assert.equal(before.result.waitingFor, 'turn');
  await done(author.patch(`/rules/${changed.id}`, { description: 'new' }, { 'if-match': 'rule-1' }));
  await worker.run();
  await worker.waiting();
  const { status, result, createdTaskIds } = await only(changed.id);
  assert.deepEqual([status, result.reason], ['skipped', 'rule_changed']);
  assert.deepEqual(createdTaskIds, before.createdTaskIds);
  await done(author.post(`/rules/${changed.id}:disable`));

  const reading = await makeRule(author, {
    trigger: observed(`${type}.read`),
    condition: { eq: [{ var: 'task' }, null] },
    action: slowly(type),
  });
  await observe(baton.admin, `${type}.read`, { names, host: 'db1' });
  await journalIsStable(baton.pool);
  await worker.turns.run();
  assert.equal((await only(reading.id)).result.waitingFor, 'turn');
  await baton.pool.run(sql`
    update iam_bindings set permissions = array['tasks.write'] where principal_id = ${author.principalId}`);
  await worker.run();
  await worker.waiting();
  const failed = await only(reading.id);
  assert.deepEqual([failed.status, failed.error.code], ['failed', 'permission_denied']);
  assert.ok(failed.result.work.length > 0);
});

test('the action after a skill continues in the same way, by the job for pending evaluations', async () => {
  const executor = await baton.actor();
  const [type, skill] = [kind(), await makeCallable(baton.admin)];
  const rule = await makeRule(baton.admin, {
    trigger: observed(type),
    interpretation: { skill: `${skill.name}@${skill.version}`, inputs: {} },
    action: {
      forEach: 'skill.output.names',
      dedupKeyTemplate: `${type}-{{ item }}`,
      fields: { title: 'slow {{ item }} {{ skill.status }}' },
    },
  });
  await observe(baton.admin, type);
  await worker.run();
  const { invocation } = await done(claimCall(executor, skill));
  const { id, fencingToken } = invocation;
  await done(
    executor.post(`/skill-invocations/${id}:complete`, {
      fencingToken,
      output: { names: names.slice(0, 8) },
    }),
  );
  // The end of the call wakes the evaluation, without waiting for the next poll after 15 s.
  await worker.run();
  await worker.waiting();
  assert.equal((await only(rule.id)).result.waitingFor, 'turn');
  for (let turn = 0; turn < 8 && (await only(rule.id)).status === 'waiting'; turn += 1) {
    await new Promise((wait) => setTimeout(wait, 5));
    await worker.waiting();
  }
  assert.equal((await only(rule.id)).status, 'matched');
  assert.deepEqual(
    await titlesOf(rule.id),
    names.slice(0, 8).map((name) => `slow ${name} succeeded`),
  );
});

const closing = (key: string) => ({
  kind: 'cancel_work',
  taskType: undefined,
  fields: undefined,
  dedupKeyTemplate: key,
});

/** An open task that a rule created under a key, and that is claimed. */
async function claimed(type: string) {
  const rule = await makeRule(baton.admin, { trigger: observed(type), action: { dedupKeyTemplate: type } });
  await observe(baton.admin, type);
  await worker.run();
  const [taskId] = (await only(rule.id)).createdTaskIds;
  const holder = await makeWorker(baton);
  return { taskId, holder, claim: await claimTask(holder, taskId) };
}

test('the end of a claim immediately makes evaluations that wait for it due', async () => {
  const type = kind();
  const { holder, claim } = await claimed(type);
  const rule = await makeRule(baton.admin, { trigger: observed(`${type}.close`), action: closing(type) });
  await observe(baton.admin, `${type}.close`);
  await worker.run();
  await worker.waiting();
  assert.equal((await only(rule.id)).status, 'waiting');
  await done(holder.actor.post(`/claims/${claim.claimId}:release`));
  await worker.run();
  await worker.waiting();
  assert.equal((await only(rule.id)).status, 'matched');
});

test('the number of pending evaluations per rule and per tenant is limited; any beyond that fail', async () => {
  const few = makeRuleWorker(baton, { CP_RULES_WAITING_MAX: '1' });
  const executor: Actor = await baton.actor();
  const type = kind();
  await claimed(type);
  const rules = [];
  for (let n = 0; n < 11; n += 1)
    rules.push(await makeRule(baton.admin, { trigger: observed(`${type}.close`), action: closing(type) }));
  for (let n = 0; n < 2; n += 1) await observe(baton.admin, `${type}.close`);
  await few.run();
  const codes = [];
  for (const { id } of rules)
    codes.push((await evaluationsOf(baton.admin, id)).map(({ error }) => error?.code ?? 'waits').sort());
  const limit = 'rule_waiting_limit';
  assert.deepEqual(codes.filter(([, second]) => second === 'waits').length, 10, 'ten of the tenant');
  assert.deepEqual(
    codes.map(([first]) => first),
    Array(11).fill(limit),
    'one of a rule',
  );
  const failed = (await evaluationsOf(baton.admin, rules[0]?.id, '&status=failed'))[0];
  assert.deepEqual([failed.error.details, failed.result.work[0].refused], [{ refused: [limit] }, limit]);
  const skill = await makeCallable(baton.admin);
  const asking = await makeRule(baton.admin, {
    trigger: observed(`${type}.ask`),
    interpretation: { skill: `${skill.name}@${skill.version}`, inputs: {} },
  });
  await observe(baton.admin, `${type}.ask`);
  await few.run();
  assert.equal((await only(asking.id)).error.code, limit);
  assert.equal((await claimCall(executor, skill)).status, 204, 'and nothing was called');
  await few.close();
});

test('a tenant with very many pending evaluations does not delay the turns of others', async () => {
  const type = kind();
  const flood = await makeRule(baton.admin, { trigger: observed(type) });
  const pending = JSON.stringify({ cause: { trigger: {}, payload: {} }, waiting: [] });
  await baton.pool.run(sql`
    insert into rule_evaluations (id, tenant_id, rule_id, rule_version, trigger_ref, status, pending, next_check_at)
    select gen_random_uuid(), ${baton.tenantId}, ${flood.id}, 1, 'event:' || n, 'waiting', ${pending}::jsonb,
      now() - interval '1 hour'
    from generate_series(1, 300) n`);
  const other = await makeRule(baton.otherAdmin, { trigger: observed(type) });
  const otherId = newId();
  await baton.pool.run(sql`
    insert into rule_evaluations (id, tenant_id, rule_id, rule_version, trigger_ref, status, pending, next_check_at)
    values (${otherId}, ${baton.otherAdmin.tenantId}, ${other.id}, 1, 'event:x', 'waiting', ${pending}::jsonb,
      now() - interval '1 s')`);
  const served: string[] = [];
  const { tools } = worker;
  const job = continuePendingEvaluations({
    ...tools,
    async command(_job, tenantId) {
      served.push(tenantId);
      if (tenantId === baton.tenantId) throw new Error('this one breaks');
      return 1 as never;
    },
  });
  await job.run();
  assert.ok(served.includes(baton.otherAdmin.tenantId));
  assert.ok(served.length <= 51, String(served.length));
  await job.run();
  // Failed entries are postponed, so that the next ones are processed.
  assert.ok(served.length > 52, String(served.length));
});
