import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { byDepth, raceRounds } from '@baton/testing/depth';
import { type Answer, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { launch } from '../../testing/execution/children.ts';
import { done, makeRun, makeTask, makeWorker } from '../../testing/leases.ts';
import { untilBlockedBy } from '../../testing/wait-until.ts';
import { relateToNew } from '../../testing/work/relations.ts';

let baton: TestCoordination;
let second: { url: string };
before(async () => {
  baton = await startCoordination();
  second = await baton.another();
});
after(() => baton.close());

/** Sends the request through one of two processes on the same store. */
async function relate(process: number, from: string, toTask: string, type: string): Promise<Answer['body']> {
  const url = process % 2 === 0 ? baton.url : second.url;
  const response = await fetch(`${url}/api/v1/tasks/${from}/relations`, {
    method: 'POST',
    headers: { authorization: `Bearer ${baton.admin.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ toTask, type }),
  });
  return response.json();
}

test('of two relations at once that together close a cycle, exactly one is stored', async () => {
  const types = ['parent', 'blocks', 'depends_on'];
  for (let round = 0; round < raceRounds; round += 1) {
    const type = types[round % types.length] as string;
    const [a, b] = await Promise.all([makeTask(baton), makeTask(baton)]);
    const answers = await Promise.all([relate(0, a.id, b.id, type), relate(1, b.id, a.id, type)]);
    const codes = answers.map(({ error }) => error?.code ?? 'made').sort();
    assert.deepEqual(codes, ['dependency_cycle', 'made'], `round ${round}`);
  }
});

test('of three relations at once, in both directions, that together close a cycle, exactly two are stored', async () => {
  for (let round = 0; round < raceRounds; round += 1) {
    const [a, b, c] = await Promise.all([makeTask(baton), makeTask(baton), makeTask(baton)]);
    const answers = await Promise.all([
      relate(0, a.id, b.id, 'depends_on'),
      relate(1, c.id, b.id, 'blocks'),
      relate(0, c.id, a.id, 'depends_on'),
    ]);
    const codes = answers.map(({ error }) => error?.code ?? 'made').sort();
    assert.deepEqual(codes, ['dependency_cycle', 'made', 'made'], `round ${round}`);
  }
});

test('of two equal relations at once, one is created, and the other refusal contains it', async () => {
  for (let round = 0; round < raceRounds; round += 1) {
    const type = ['related_to', 'blocks'][round % 2] as string;
    const [a, b] = await Promise.all([makeTask(baton), makeTask(baton)]);
    const answers = await Promise.all([0, 1, 2, 3].map((n) => relate(n, a.id, b.id, type)));
    const made = answers.filter(({ error }) => error === undefined);
    assert.equal(made.length, 1, `round ${round}`);
    for (const { error } of answers)
      if (error !== undefined)
        assert.deepEqual([error.code, error.details], ['relation_exists', { relationId: made[0].id }]);
  }
});

test('relations added and removed while their ends complete keep every count of open prerequisites correct', async () => {
  for (let round = 0; round < raceRounds; round += 1) {
    const tasks = await Promise.all(Array.from({ length: 5 }, () => makeTask(baton)));
    const [hub, ...others] = tasks.map(({ id }) => id) as [string, ...string[]];
    const kept = others.slice(0, 2);
    const made = await Promise.all(
      kept.flatMap((other) => [
        relate(0, other, hub, 'depends_on'),
        relate(1, other, others.at(-1) as string, 'depends_on'),
      ]),
    );
    await Promise.all([
      baton.admin.post(`/tasks/${hub}:complete`, {}, { 'if-match': 'task-1' }),
      baton.admin.post(`/tasks/${others.at(-1)}:complete`, {}, { 'if-match': 'task-1' }),
      relate(1, others[2] as string, hub, 'depends_on'),
      relate(0, hub, others[2] as string, 'blocks'),
      baton.admin.delete(`/tasks/${hub}/relations/${made[0].id}`),
    ]);
    const wrong = await baton.pool.rows(sql`
      select t.id, t.open_prerequisites from tasks t
      where t.open_prerequisites <> (
        select count(*) from task_relations r join tasks p on p.id = r.prerequisite_task_id
        where r.waiting_task_id = t.id and p.category <> 'terminal_success')`);
    assert.deepEqual(wrong, [], `round ${round}`);
    assert.equal((await done(baton.admin.get(`/tasks/${hub}`))).status, 'done');
  }
});

test('of rivals for the 1,000th relation of a task, exactly one succeeds', async () => {
  const worker = await makeWorker(baton);
  for (let round = 0; round < byDepth(3, 10); round += 1) {
    const { task, run } = await makeRun(baton, worker);
    await relateToNew(baton, task.id, 999);
    const others = await Promise.all([1, 2, 3, 4].map(() => makeTask(baton)));
    const [a, b, c, d] = others.map(({ id }) => id) as [string, string, string, string];
    const child = { title: 'one more', parentTask: task.id };
    const answers = await Promise.all([
      relate(0, task.id, a, 'depends_on'),
      relate(1, b, task.id, 'depends_on'),
      relate(0, c, task.id, 'related_to'),
      relate(1, task.id, d, 'parent'),
      launch(worker, run.id).then(({ body }) => body),
      baton.admin.post('/tasks', child).then(({ body }) => body),
    ]);
    const codes = answers.map(({ error }) => error?.code ?? 'made').sort();
    assert.deepEqual(codes, [...Array(5).fill('invalid_relation'), 'made'], `round ${round}`);
    const { items } = await done(baton.admin.get(`/tasks/${task.id}/relations`));
    assert.equal(items.length, 1000, `round ${round}`);
  }
});

test('two completions whose tasks wait for each other and for a third do not deadlock', async () => {
  // The waiting task has the smallest id, so locking in the order of ids would lock it first.
  const waiting = await makeTask(baton);
  const [middle, first] = [await makeTask(baton), await makeTask(baton)];
  await relate(0, waiting.id, middle.id, 'depends_on');
  await relate(0, waiting.id, first.id, 'depends_on');
  await relate(0, middle.id, first.id, 'depends_on');
  const { completed } = await baton.pool.transaction(async (tx) => {
    await tx.run(sql`select from tasks where id = ${middle.id} for no key update`);
    const completed = baton.admin.post(`/tasks/${first.id}:complete`, {}, { 'if-match': 'task-1' });
    await untilBlockedBy(tx, baton, completed);
    // Has the same effect as completing the middle task would have: the statement then locks the waiting task.
    // PostgreSQL checks for a deadlock after a second of waiting, and ends one of the two transactions.
    await tx.run(sql`set local lock_timeout = '300ms'`);
    await tx.run(sql`
      update tasks set status = 'done', category = 'terminal_success', completed_at = now(), version = version + 1
      where id = ${middle.id}`);
    return { completed };
  });
  assert.equal((await completed).status, 200);
  const left = await baton.pool.row(sql`select open_prerequisites from tasks where id = ${waiting.id}`);
  assert.deepEqual(left, { open_prerequisites: 0 });
});
