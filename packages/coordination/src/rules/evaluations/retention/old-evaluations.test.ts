import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import { startCoordination, type TestCoordination } from '../../../testing/coordination.ts';
import { done, makeTask, refused } from '../../../testing/leases.ts';
import { evaluationsOf, makeRule, makeRuleWorker, observe, observed } from '../../../testing/rules/rules.ts';
import { deleteOldEvaluations, deleteOldWorkKeys } from './old-evaluations.ts';

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
const forget = async () => {
  await deleteOldEvaluations(worker.tools).run();
  await deleteOldWorkKeys(worker.tools).run();
};
/** Makes all existing evaluations older, by default by a day more than the retention period. */
async function age(days = 31): Promise<void> {
  const { pool } = baton;
  await pool.run(sql`
    update rule_evaluations set updated_at = updated_at - make_interval(days => ${days}),
      created_at = created_at - make_interval(days => ${days})`);
  await pool.run(sql`update rule_work set looked_at = looked_at - make_interval(days => ${days})`);
  await pool.run(sql`update rule_touched_tasks set touched_at = touched_at - make_interval(days => ${days})`);
}
const keysLike = async (prefix: string) =>
  (
    await baton.pool.rows<{ dedup_key: string }>(sql`
      select dedup_key from rule_work where starts_with(dedup_key, ${prefix}) order by dedup_key`)
  ).map((row) => row.dedup_key);
const touches = async () =>
  (await baton.pool.row<{ n: number }>(sql`select count(*)::integer as n from rule_touched_tasks`))?.n;

test('evaluations are deleted 30 days after their end; pending ones are kept', async () => {
  const type = kind();
  const rule = await makeRule(baton.admin, { trigger: observed(type) });
  await observe(baton.admin, type, { host: 'a' });
  await worker.run();
  const [evaluation] = await evaluationsOf(baton.admin, rule.id);
  await age(29);
  await forget();
  assert.equal((await done(baton.admin.get(`/rule-evaluations/${evaluation.id}`))).status, 'matched');
  await age(2);
  await baton.pool.run(sql`update rule_evaluations set status = 'waiting' where id = ${evaluation.id}`);
  await forget();
  assert.equal((await evaluationsOf(baton.admin, rule.id)).length, 1);
  await baton.pool.run(sql`update rule_evaluations set status = 'matched' where id = ${evaluation.id}`);
  await forget();
  assert.deepEqual(await evaluationsOf(baton.admin, rule.id), []);
  await refused(baton.admin.get(`/rule-evaluations/${evaluation.id}`), 404, 'not_found');
});

test('an evaluation is kept while its cause may be read again, so that no rule acts on it twice', async () => {
  const type = kind();
  const first = await makeRule(baton.admin, { trigger: observed(type) });
  await makeRule(baton.admin, { trigger: observed(type), action: { dedupKeyTemplate: type } });
  await baton.pool.run(sql`insert into rule_work (tenant_id, dedup_key) values (${baton.tenantId}, ${type})`);
  await baton.pool.run({
    text: `create function break_old_work() returns trigger language plpgsql as $$
      begin if old.dedup_key = '${type}' then raise exception 'broken for a test'; end if; return new; end $$;
      create trigger break_old_work before update on rule_work for each row execute function break_old_work()`,
    values: [],
  });
  await observe(baton.admin, type, {});
  await worker.run();
  const evaluated = async () => (await evaluationsOf(baton.admin, first.id)).map(({ id }) => id);
  const [known] = await evaluated();
  await baton.pool.run({ text: 'drop trigger break_old_work on rule_work', values: [] });
  // Simulates a month without work.
  await age();
  await forget();
  assert.deepEqual(await evaluated(), [known]);
  await baton.pool.run(sql`update event_consumers set next_attempt_at = now() - interval '1 s'`);
  await worker.run();
  assert.deepEqual(await evaluated(), [known]);
  const filed = await baton.pool.rows(sql`
    select id from tasks where origin ->> 'ruleId' = ${first.id}`);
  assert.equal(filed.length, 1);
  await forget();
  assert.deepEqual(await evaluated(), []);
});

test('a key is deleted 30 days after its task was closed, and never while the task is open or a rule has locked the key', async () => {
  const type = kind();
  await makeRule(baton.admin, {
    trigger: observed(type),
    action: { dedupKeyTemplate: `${type}-{{ payload.data.host }}` },
  });
  for (const host of ['closed', 'open', 'fresh']) await observe(baton.admin, type, { host });
  await worker.run();
  const keys = (...names: string[]) => names.map((name) => `${type}-${name}`);
  assert.deepEqual(await keysLike(type), keys('closed', 'fresh', 'open'));
  const taskOf = async (name: string) =>
    (
      await baton.pool.row<{ task_id: string }>(sql`
      select task_id from rule_work where dedup_key = ${`${type}-${name}`}`)
    )?.task_id as string;
  for (const name of ['closed', 'fresh']) {
    const { version } = await done(baton.admin.get(`/tasks/${await taskOf(name)}`));
    const ifMatch = { 'if-match': `task-${version}` };
    await done(baton.admin.patch(`/tasks/${await taskOf(name)}`, { status: 'cancelled' }, ifMatch));
  }
  await baton.pool.run(sql`
    update tasks set updated_at = now() - interval '31 days' where id = ${await taskOf('closed')}`);
  await baton.pool.run(sql`
    insert into rule_work (tenant_id, dedup_key) values (${baton.tenantId}, ${`${type}-none`})`);
  await forget();
  assert.deepEqual(await keysLike(type), keys('closed', 'fresh', 'none', 'open'));
  await age();
  await baton.pool.transaction(async (tx) => {
    await tx.run(sql`select from rule_work where dedup_key = ${`${type}-closed`} for update`);
    await forget();
  });
  assert.deepEqual(await keysLike(type), keys('closed', 'fresh', 'open'));
  await forget();
  assert.deepEqual(await keysLike(type), keys('fresh', 'open'));
  // A retained key is not examined again until another retention period has passed.
  await baton.pool.run(sql`
    update tasks set updated_at = now() - interval '31 days' where id = ${await taskOf('fresh')}`);
  await forget();
  assert.deepEqual(await keysLike(type), keys('fresh', 'open'));
});

test('records of actions are deleted after a month', async () => {
  const task = await makeTask(baton);
  await baton.pool.run(sql`
    insert into rule_touched_tasks (task_id, tenant_id, chain_depth) values (${task.id}, ${baton.tenantId}, 1)`);
  await forget();
  assert.notEqual(await touches(), 0);
  await age();
  await forget();
  assert.equal(await touches(), 0);
});
