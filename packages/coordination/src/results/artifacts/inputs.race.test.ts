import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { byDepth } from '@baton/testing/depth';
import { newId } from '@baton/values/ids';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, makeTask, makeWorker, type Worker } from '../../testing/leases.ts';
import { freshBytes, upload } from '../../testing/results/contents.ts';
import { untilBlockedBy } from '../../testing/wait-until.ts';

const rounds = byDepth(10, 100);

let baton: TestCoordination;
let worker: Worker;
let memo: { id: string };
before(async () => {
  baton = await startCoordination();
  worker = await makeWorker(baton);
  for (const key of ['paper', 'plan'])
    await done(baton.admin.post('/artifact-types', { key, displayName: key, mediaTypes: ['*/*'] }), 201);
  await makeType('review', [
    { key: 'draft', type: 'paper', from: 'depends_on', required: true },
    { key: 'plan', type: 'plan', from: 'parent', required: true },
  ]);
  memo = await makeType('memo', []);
  await makeType('memo', [{ key: 'plan', type: 'plan', from: 'parent', required: true }]);
});
after(() => baton.close());

const makeType = (key: string, inputs: object[]) =>
  done(baton.admin.post('/task-types', { key, displayName: key, artifactSchema: { inputs } }), 201);
const record = (task: string, type: string, more: object = {}) =>
  baton.admin.post('/artifacts', { type, name: type, task, ...more });
const relate = (from: string, toTask: string, type: string) =>
  baton.admin.post(`/tasks/${from}/relations`, { toTask, type });
const complete = (id: string) => baton.admin.post(`/tasks/${id}:complete`, {}, { 'if-match': 'task-1' });

/** Tasks that are in the queue although an input is missing, or are not in it although they could be claimed. */
const misplaced = () =>
  baton.pool.rows(sql`
    select t.id, t.lacks_input, missing_inputs(t.id) as missing, q.task_id is not null as is_queued
    from tasks t left join work_queue q on q.task_id = t.id
    where t.lacks_input <> (missing_inputs(t.id) <> '[]')
      or (t.active_claim_id is null and (q.task_id is not null) <> (
        t.category in ('backlog', 'active', 'blocked') and t.open_prerequisites = 0 and not t.lacks_input))`);

test('under concurrent records, replacements, purges, relations and completions, the queue has the tasks with all inputs', async () => {
  for (let round = 0; round < rounds; round += 1) {
    const [author, other, parent] = await Promise.all([1, 2, 3].map(() => makeTask(baton)));
    assert.ok(author !== undefined && other !== undefined && parent !== undefined);
    const reviews = await Promise.all([1, 2, 3].map(() => makeTask(baton, { typeKey: 'review' })));
    const [first, second, third] = reviews.map(({ id }) => id) as [string, string, string];
    const { contentRef } = await done(upload(baton, baton.admin, freshBytes()), 201);
    const paper = await done(record(author.id, 'paper', { contentRef }), 201);
    const plan = await done(record(parent.id, 'plan'), 201);
    const tie = await done(relate(first, parent.id, 'parent'), 201);
    await done(relate(first, author.id, 'depends_on'), 201);
    await Promise.all([
      relate(second, author.id, 'depends_on'),
      baton.admin.post(`/tasks/${author.id}/relations`, { toTask: third, type: 'blocks' }),
      baton.admin.post('/tasks', { title: 'new', typeKey: 'review', parentTask: parent.id }),
      relate(second, parent.id, 'parent'),
      complete(author.id),
      complete(other.id),
      relate(third, other.id, 'depends_on'),
      baton.admin.post(`/artifacts/${paper.id}:purge-content`, { reason: 'x' }),
      record(other.id, 'paper'),
      record(parent.id, 'paper', { supersedesArtifactId: plan.id }),
      record(parent.id, 'plan'),
      baton.admin.delete(`/tasks/${first}/relations/${tie.id}`),
      worker.actor.post(`/tasks/${first}:claim`, { sessionId: worker.sessionId }),
    ]);
    assert.deepEqual(await misplaced(), [], `round ${round}`);
    await Promise.all([
      record(author.id, 'paper'),
      record(parent.id, 'plan'),
      relate(first, parent.id, 'parent'),
    ]);
    assert.deepEqual(await misplaced(), [], `round ${round}`);
  }
});

/** Holds a command open after it has added the relation of `from` to `toTask`. */
const whileRelating = (
  from: string,
  toTask: string,
  act: (tx: Parameters<typeof untilBlockedBy>[0]) => Promise<void>,
) =>
  baton.pool.transaction(async (tx) => {
    await tx.run(sql`
      insert into task_relations (id, tenant_id, from_task_id, to_task_id, type, created_by)
      values (${newId()}, ${baton.tenantId}, ${from}, ${toTask}, 'parent', ${baton.admin.principalId})`);
    await act(tx);
  });

test('an artifact that is recorded while a relation to its task is added is found by one of the two commands', async () => {
  const [needy, parent] = [await makeTask(baton, { typeKey: 'memo' }), await makeTask(baton)];
  let recorded: ReturnType<typeof record> | undefined;
  await whileRelating(needy.id, parent.id, async (tx) => {
    recorded = record(parent.id, 'plan');
    await untilBlockedBy(tx, baton, recorded);
  });
  assert.equal((await recorded)?.status, 201);
  assert.deepEqual(await misplaced(), []);
});

test('a type change during the recording of an artifact does not wait and leaves no task out of the queue', async () => {
  const parent = await makeTask(baton);
  const [related, bare] = [await insertMemo(), await insertMemo()];
  await done(relate(related, parent.id, 'parent'), 201);
  await baton.pool.transaction(async (tx) => {
    await tx.run(sql`
      insert into artifacts (id, tenant_id, created_by, task_id, type, name)
      values (${newId()}, ${baton.tenantId}, ${baton.admin.principalId}, ${parent.id}, 'plan', 'plan')`);
    await done(baton.admin.post(`/task-types/${memo.id}:migrate-tasks`, {}));
  });
  assert.deepEqual(await misplaced(), []);
  const row = await baton.pool.row(sql`select lacks_input from tasks where id = ${bare}`);
  assert.deepEqual(row, { lacks_input: true });
});

/** A task of the older version of its type. */
async function insertMemo(): Promise<string> {
  const { id } = await makeTask(baton);
  await baton.pool.run(sql`update tasks set type_id = ${memo.id} where id = ${id}`);
  return id;
}
