import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { claimTask, done, endClaimLease, eventsOf, makeTask, makeWorker } from '../../testing/leases.ts';
import { journalIsStable, writeEvents } from '../../testing/ledger/journal-writer.ts';
import { evaluationsOf, makeRule, makeRuleWorker, observe, observed } from '../../testing/rules/rules.ts';
import { untilBlockedBy } from '../../testing/wait-until.ts';
import { runRules } from './rule-jobs.ts';

let baton: TestCoordination;
let worker: ReturnType<typeof makeRuleWorker>;
const logged: string[] = [];
before(async () => {
  // The outbox is off, because pending events of a sink would delay the archive.
  baton = await startCoordination({ CP_OUTBOX_ENABLED: 'false' });
  worker = makeRuleWorker(baton, {}, logged);
});
after(async () => {
  await worker.close();
  await baton.close();
});
beforeEach(async () => {
  // Each test starts without enabled rules.
  await baton.pool.run(
    sql`update rules set status = 'disabled', next_run_at = null where status = 'enabled'`,
  );
  await worker.run();
});

const kind = () => `k-${newId()}`;
const cursors = () =>
  baton.pool.rows<{ tenant_id: string; failure_count: number }>(sql`
    select tenant_id, failure_count from event_consumers where consumer = 'work-rules'`);
const closing = (type: string, kindOfAction = 'complete_work', key = type) => ({
  trigger: observed(`${type}.close`),
  action: { kind: kindOfAction, taskType: undefined, fields: undefined, dedupKeyTemplate: key },
});
/** An open task under a key, created by a rule. */
async function filed(type: string): Promise<string> {
  const rule = await makeRule(baton.admin, { trigger: observed(type), action: { dedupKeyTemplate: type } });
  await observe(baton.admin, type);
  await worker.run();
  return (await evaluationsOf(baton.admin, rule.id))[0].createdTaskIds[0];
}
const due = () =>
  baton.pool.run(
    sql`update rule_evaluations set next_check_at = now() - interval '1 s' where next_check_at is not null`,
  );

test('closing a claimed task waits until the claim ends', async () => {
  const type = kind();
  const taskId = await filed(type);
  await claimTask(await makeWorker(baton), taskId);
  const rule = await makeRule(baton.admin, closing(type));
  await observe(baton.admin, `${type}.close`);
  await worker.run();
  const [waiting] = await evaluationsOf(baton.admin, rule.id);
  assert.deepEqual([waiting.status, waiting.result.waitingFor], ['waiting', 'claim']);
  const seconds = (Date.parse(waiting.nextCheckAt) - Date.now()) / 1000;
  assert.ok(seconds > 5 && seconds <= 15, String(seconds));
  assert.equal((await eventsOf(baton, rule.id)).filter((event) => event.type === 'rule.evaluated').length, 0);
  await due();
  await worker.waiting();
  assert.equal((await evaluationsOf(baton.admin, rule.id))[0].status, 'waiting');
  await endClaimLease(baton, taskId);
  await due();
  await worker.waiting();
  const [done1] = await evaluationsOf(baton.admin, rule.id);
  assert.deepEqual([done1.id, done1.status, done1.nextCheckAt], [waiting.id, 'matched', null]);
  assert.equal((await done(baton.admin.get(`/tasks/${taskId}`))).systemStatusCategory, 'terminal_success');
  const told = (await eventsOf(baton, rule.id)).filter((event) => event.type === 'rule.evaluated');
  assert.deepEqual(
    told.map(({ payload }) => payload['result']),
    ['matched'],
  );
});

test('a wait that is too long fails with claim_not_released; completed items are kept', async () => {
  const type = kind();
  const [one, other] = [`${type}-a`, `${type}-b`];
  const rule = await makeRule(baton.admin, {
    trigger: observed(type),
    action: { forEach: 'payload.data.keys', dedupKeyTemplate: '{{ item }}' },
  });
  await observe(baton.admin, type, { keys: [one, other] });
  await worker.run();
  const [first, second] = (await evaluationsOf(baton.admin, rule.id))[0].createdTaskIds;
  await claimTask(await makeWorker(baton), second);
  const both = await makeRule(baton.admin, {
    trigger: observed(`${type}.close`),
    action: { ...closing(type, 'cancel_work', '{{ item }}').action, forEach: 'payload.data.keys' },
  });
  await observe(baton.admin, `${type}.close`, { keys: [one, other] });
  await observe(baton.admin, `${type}.close`, { keys: [other] });
  await worker.run();
  assert.equal((await done(baton.admin.get(`/tasks/${first}`))).systemStatusCategory, 'terminal_cancelled');
  await baton.pool.run(sql`
    update rule_evaluations set created_at = now() - interval '25 hours', next_check_at = now() - interval '1 s' where next_check_at is not null`);
  await worker.waiting();
  const found = await evaluationsOf(baton.admin, both.id);
  assert.deepEqual(
    new Set(found.map(({ status, error }) => `${status} ${error?.code}`)),
    new Set(['failed claim_not_released', 'matched undefined']),
  );
  const matched = found.find(({ status }) => status === 'matched');
  assert.deepEqual(
    matched.result.work.map((item: any) => item.refused),
    [null, 'claim_not_released'],
  );
});

test('pending evaluations end as skipped at once when their rule is changed or disabled', async () => {
  const type = kind();
  const taskId = await filed(type);
  await claimTask(await makeWorker(baton), taskId);
  const [changed, stopped] = [
    await makeRule(baton.admin, closing(type)),
    await makeRule(baton.admin, closing(type)),
  ];
  await observe(baton.admin, `${type}.close`);
  await worker.run();
  const patched = baton.admin.patch(`/rules/${changed.id}`, { description: 'new' }, { 'if-match': 'rule-1' });
  await done(patched);
  await done(baton.admin.post(`/rules/${stopped.id}:disable`));
  await endClaimLease(baton, taskId);
  await worker.waiting();
  const reasons = [];
  for (const { id } of [changed, stopped]) {
    const [{ status, result, ruleVersion }] = await evaluationsOf(baton.admin, id);
    reasons.push([status, result.reason, ruleVersion]);
    const told = (await eventsOf(baton, id)).filter((event) => event.type === 'rule.evaluated');
    assert.deepEqual(
      told.map(({ payload }) => payload['result']),
      ['skipped'],
    );
  }
  assert.deepEqual(reasons, [
    ['skipped', 'rule_changed', 1],
    ['skipped', 'rule_stopped', 1],
  ]);
  assert.notEqual((await done(baton.admin.get(`/tasks/${taskId}`))).systemStatusCategory, 'terminal_success');
});

test('a schedule is evaluated once at each due time; missed times are not made up for', async () => {
  const type = kind();
  await filed(type);
  const rule = await makeRule(baton.admin, {
    trigger: { kind: 'schedule', type: 'interval', everySeconds: 60 },
    action: closing(type, 'cancel_work').action,
  });
  assert.ok(Date.parse(rule.nextRunAt) - Date.now() <= 60_000);
  await worker.schedules();
  assert.equal((await evaluationsOf(baton.admin, rule.id)).length, 0);
  await baton.pool.run(sql`
    update rules set next_run_at = date_trunc('second', now()) - interval '150 seconds' where id = ${rule.id}`);
  const slot = Math.floor(Date.parse((await done(baton.admin.get(`/rules/${rule.id}`))).nextRunAt) / 1000);
  await Promise.all([worker.schedules(), worker.schedules()]);
  await worker.schedules();
  const [evaluation, ...others] = await evaluationsOf(baton.admin, rule.id);
  assert.equal(others.length, 0);
  assert.deepEqual([evaluation.triggerRef, evaluation.status], [`schedule:${slot}`, 'matched']);
  const { nextRunAt } = await done(baton.admin.get(`/rules/${rule.id}`));
  assert.equal(Math.floor(Date.parse(nextRunAt) / 1000), slot + 180);
  await done(baton.admin.post(`/rules/${rule.id}:disable`));
  assert.equal((await done(baton.admin.get(`/rules/${rule.id}`))).nextRunAt, null);
});

test('two rules that trigger each other in a loop are stopped', async () => {
  const type = kind();
  const rule = await makeRule(baton.admin, {
    trigger: { kind: 'event', type: 'task.completed' },
    action: { dedupKeyTemplate: `${type}-{{ trigger.eventId }}`, fields: { title: 'Again' } },
  });
  const start = await makeTask(baton);
  await done(baton.admin.post(`/tasks/${start.id}:complete`, {}, { 'if-match': 'task-1' }));
  let completed = 0;
  for (let round = 0; round < 40; round += 1) {
    await worker.run();
    const [newest] = await evaluationsOf(baton.admin, rule.id);
    const [taskId] = newest.createdTaskIds;
    if (taskId === undefined) break;
    // Simulates a second rule that completes the task through a verification, which the worker ends without an actor.
    await done(baton.admin.post(`/tasks/${taskId}:complete`, {}, { 'if-match': 'task-1' }));
    completed += 1;
  }
  const [last] = await evaluationsOf(baton.admin, rule.id);
  assert.deepEqual([last.status, last.error.code, completed], ['failed', 'rule_loop', 16]);
});

test('an evaluation that fails three times unexpectedly is failed, keeps its earlier results, and others continue', async () => {
  const type = kind();
  const rule = await makeRule(baton.admin, { trigger: observed(type), action: { dedupKeyTemplate: type } });
  const after1 = await makeRule(baton.admin, { trigger: observed(`${type}.next`) });
  const earlier = await makeRule(baton.admin, { trigger: observed(`${type}.first`) });
  await baton.pool.run(sql`
    insert into rule_work (tenant_id, dedup_key) values (${baton.tenantId}, ${type})`);
  await baton.pool.run({
    text: `create or replace function break_work() returns trigger language plpgsql as $$
      begin if old.dedup_key = '${type}' then raise exception 'broken for a test'; end if; return new; end $$`,
    values: [],
  });
  await baton.pool.run({
    text: 'create trigger break_work before update on rule_work for each row execute function break_work()',
    values: [],
  });
  for (const suffix of ['.first', '', '.next']) await observe(baton.admin, `${type}${suffix}`);
  await journalIsStable(baton.pool);
  const elapse = () =>
    baton.pool.run(sql`update event_consumers set next_attempt_at = now() - interval '1 s'`);
  for (let attempt = 1; attempt < 3; attempt += 1) {
    await worker.turns.run();
    assert.equal((await cursors())[0]?.failure_count, attempt);
    assert.equal((await evaluationsOf(baton.admin, earlier.id)).length, 1);
    assert.equal((await evaluationsOf(baton.admin, rule.id)).length, 0);
    // Makes sure that the retry isn't due, however slow this machine is.
    await baton.pool.run(
      sql`update event_consumers set next_attempt_at = next_attempt_at + interval '1 hour'`,
    );
    await worker.turns.run();
    assert.equal((await cursors())[0]?.failure_count, attempt);
    await elapse();
  }
  await worker.run();
  const [broken] = await evaluationsOf(baton.admin, rule.id);
  assert.deepEqual([broken.status, broken.error.code], ['failed', 'rule_internal_error']);
  assert.equal((await evaluationsOf(baton.admin, after1.id))[0].status, 'matched');
  assert.equal((await cursors())[0]?.failure_count, 0);
  assert.ok(logged.some((line) => line.includes('work rule evaluation failed')));
  await baton.pool.run({ text: 'drop trigger break_work on rule_work', values: [] });
});

test('only a turn that meets a deadlock is retried immediately', async () => {
  const type = kind();
  const rule = await makeRule(baton.admin, { trigger: observed(type), action: { dedupKeyTemplate: type } });
  // The sequence also counts attempts that were rolled back.
  const meeting = [
    'create sequence deadlocks',
    `create function meet_deadlock() returns trigger language plpgsql as $$
      begin if nextval('deadlocks') < 3 then raise exception using errcode = 'deadlock_detected'; end if; return new; end $$`,
    'create trigger meet_deadlock before insert on rule_work for each row execute function meet_deadlock()',
  ];
  for (const text of meeting) await baton.pool.run({ text, values: [] });
  await observe(baton.admin, type);
  await worker.run();
  await baton.pool.run({ text: 'drop trigger meet_deadlock on rule_work', values: [] });
  const found = await evaluationsOf(baton.admin, rule.id);
  assert.deepEqual(
    found.map(({ status, createdTaskIds }) => [status, createdTaskIds.length]),
    [['matched', 1]],
  );
  const told = (await eventsOf(baton, rule.id)).filter((event) => event.type === 'rule.evaluated');
  assert.equal(told.length, 1);
});

test('a tenant without rules has no cursor: retention is not held back, and its journal is not read', async () => {
  await makeTask(baton);
  await worker.run();
  assert.equal((await cursors()).length, 0);
  const rule = await makeRule(baton.admin);
  assert.equal((await cursors()).length, 1);
  await baton.pool.run(sql`
    insert into event_consumers (tenant_id, consumer, position, sequence)
    select ${baton.tenantId}, 'context-adapter', max(position), max(sequence) from events`);
  await makeTask(baton);
  await journalIsStable(baton.pool);
  const archive = async () =>
    (await done(baton.admin.post('/operations/journal:archive', { beforeSeconds: 0 }))).archived;
  await baton.pool.run(sql`
    update event_consumers set position = journal_horizon() where consumer = 'context-adapter'`);
  await archive();
  assert.equal(await archive(), 0);
  await done(baton.admin.post(`/rules/${rule.id}:disable`));
  await worker.run();
  assert.equal((await cursors()).length, 0);
  await baton.pool.run(sql`
    update event_consumers set position = journal_horizon() where consumer = 'context-adapter'`);
  assert.ok((await archive()) > 0);
});

test('a cursor of a pruned or another history continues with the remaining journal', async () => {
  const type = kind();
  const rule = await makeRule(baton.admin, { trigger: observed(type) });
  await baton.pool.run(sql`
    update event_consumers set position = 9000000000000000 where consumer = 'work-rules'`);
  await worker.turns.run();
  await observe(baton.admin, type);
  // No event follows this cursor, so nothing makes the tenant's turn due until the cursor is reset.
  await baton.pool.run(sql`
    update event_consumers set position = 0, sequence = 0 where consumer = 'work-rules'`);
  await worker.run();
  assert.equal((await evaluationsOf(baton.admin, rule.id)).length, 1);
});

test('an event that is delivered again, or to two workers at once, causes no action twice', async () => {
  const type = kind();
  const rule = await makeRule(baton.admin, {
    trigger: observed(type),
    action: { dedupKeyTemplate: `${type}-{{ trigger.eventId }}` },
  });
  const others = [makeRuleWorker(baton), makeRuleWorker(baton)];
  for (let n = 0; n < 30; n += 1) await observe(baton.admin, type);
  await Promise.all([worker, ...others].map((one) => one.run()));
  await baton.pool.run(sql`
    update event_consumers set position = 0, sequence = 0 where consumer = 'work-rules'`);
  await Promise.all([worker, ...others].map((one) => one.run()));
  for (const one of others) await one.close();
  const found = await evaluationsOf(baton.admin, rule.id);
  assert.equal(found.length, 30);
  const tasks = await baton.pool.row<{ n: number }>(sql`
    select count(*)::int as n from tasks where origin ->> 'ruleId' = ${rule.id}`);
  assert.equal(tasks?.n, 30);
  const told = (await eventsOf(baton, rule.id)).filter((event) => event.type === 'rule.evaluated');
  assert.equal(told.length, 30);
});

test('disabling the rule, or its enabler, waits for the running turn, and then applies', async () => {
  const type = kind();
  const author = await baton.actor({ permissions: ['rules.write', 'tasks.write'] });
  const rule = await makeRule(author, { trigger: observed(type) });
  await observe(baton.admin, type);
  await journalIsStable(baton.pool);
  // The turn holds the locks of the author and the rule while it waits for the key of the work.
  let ended = 0;
  const { calls } = await baton.pool.transaction(async (tx) => {
    await tx.run(sql`lock table rule_evaluations in exclusive mode`);
    const turn = worker.turns.run();
    await untilBlockedBy(tx, baton, turn);
    const disabled = [
      baton.admin.post(`/rules/${rule.id}:disable`),
      baton.admin.post(`/principals/${author.principalId}:disable`, { reason: 'x' }),
    ].map((call) => call.then(() => (ended += 1)));
    await new Promise((wait) => setTimeout(wait, 200));
    assert.equal(ended, 0);
    return { calls: [turn, ...disabled] };
  });
  await Promise.all(calls);
  await worker.run();
  assert.equal((await evaluationsOf(baton.admin, rule.id))[0].status, 'matched');
});

test('a tenant with very many events does not delay the turns of others', async () => {
  const type = kind();
  await makeRule(baton.admin, { trigger: observed(type) });
  const drafts = Array.from({ length: 900 }, () => ({
    type: 'observation.recorded',
    entity_type: 'observation',
    payload: { kind: type },
  }));
  await writeEvents(baton.pool, baton.tenantId, drafts);
  const quiet = await makeRule(baton.otherAdmin, { trigger: observed(type) });
  await observe(baton.otherAdmin, type);
  await journalIsStable(baton.pool);
  const job = runRules(worker.tools);
  await job.run();
  assert.equal((await evaluationsOf(baton.otherAdmin, quiet.id)).length, 1);
  const behind = await baton.pool.row<{ n: number }>(sql`
    select count(*)::int as n from events e join event_consumers c on c.tenant_id = e.tenant_id
    where c.consumer = 'work-rules' and e.tenant_id = ${baton.tenantId} and (e.position, e.sequence) > (c.position, c.sequence)`);
  assert.ok((behind?.n ?? 0) > 600);
});
