import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { byDepth } from '@baton/testing/depth';
import { sendRequest, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { insertTestType } from '../../testing/definitions/task-type.ts';
import { done, makeTask } from '../../testing/leases.ts';

const rounds = byDepth(10, 200);
const pairs = byDepth(5, 200);

let baton: TestCoordination;
let second: { url: string };
before(async () => {
  baton = await startCoordination();
  second = await baton.another();
});
after(() => baton.close());

/** Sends the request through one of two processes on the same store. */
const complete = (n: number, taskId: string) =>
  sendRequest(`${n % 2 === 0 ? baton.url : second.url}/api/v1/tasks/${taskId}:complete`, 'POST', {
    token: baton.admin.token,
    body: {},
    headers: { 'if-match': 'task-1' },
  });

test('if many tasks that declare work with the same key are completed at once, it is created once', async () => {
  const ensureWork = { type: 'task', key: 'round-$.task.customFields.round', title: 'once' };
  await insertTestType(baton, {
    key: 'once',
    completionSchema: { onComplete: { actions: [{ ensureWork }] } },
  });
  for (let round = 0; round < rounds; round += 1) {
    const made = () => makeTask(baton, { typeKey: 'once', customFields: { round } });
    const tasks = await Promise.all([made(), made(), made(), made()]);
    await Promise.all(tasks.map(({ id }, n) => done(complete(n, id))));
    const events = await baton.pool.rows<{ type: string; task_id: string }>(sql`
      select type, payload -> 'actions' -> 0 ->> 'taskId' as task_id from events
      where entity_id = any (${tasks.map(({ id }) => id)}::uuid[]) and type like 'task.completion_work%'`);
    assert.deepEqual(
      events.map(({ type }) => type),
      Array(4).fill('task.completion_work_executed'),
    );
    assert.equal(new Set(events.map(({ task_id: id }) => id)).size, 1, `round ${round}`);
  }
  const counted = await baton.pool.row<{ count: number }>(
    sql`select count(*)::integer as count from tasks where title = 'once'`,
  );
  assert.equal(counted?.count, rounds);
});

test('two concurrent completions that create work with two keys in opposite orders succeed, and each work is created once', async () => {
  const action = (key: string) => ({
    ensureWork: { type: 'task', key: `${key}-$.task.customFields.round`, title: 'pair' },
  });
  for (const [key, order] of [
    ['forth', ['a', 'b']],
    ['back', ['b', 'a']],
  ] as const)
    await insertTestType(baton, { key, completionSchema: { onComplete: { actions: order.map(action) } } });
  for (let round = 0; round < pairs; round += 1) {
    const made = (typeKey: string) => makeTask(baton, { typeKey, customFields: { round } });
    const tasks = await Promise.all([made('forth'), made('back')]);
    await Promise.all(tasks.map(({ id }, n) => done(complete(n, id))));
  }
  const counted = await baton.pool.row<{ count: number }>(
    sql`select count(*)::integer as count from tasks where title = 'pair'`,
  );
  assert.equal(counted?.count, 2 * pairs);
});
