import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { byDepth } from '@baton/testing/depth';
import { newId } from '@baton/values/ids';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, endClaimLease, makeRun, makeTask, makeWorker, type Worker } from '../../testing/leases.ts';
import { makeWorkerTools } from '../../testing/sweepers.ts';
import { until } from '../../testing/wait-until.ts';
import { failOnce } from '../../testing/work/availability.ts';
import { expireDueClaims } from '../sweeper/sweeper.ts';

const rounds = byDepth(15, 150);

let baton: TestCoordination;
let worker: Worker;
let rivals: Worker[];
let background: ReturnType<typeof makeWorkerTools>;
before(async () => {
  baton = await startCoordination();
  worker = await makeWorker(baton);
  rivals = await Promise.all([1, 2, 3, 4].map(() => makeWorker(baton)));
  background = makeWorkerTools(baton);
});
after(async () => {
  await background.close();
  await baton.close();
});

const claim = ({ actor, sessionId }: Worker, id: string) => actor.post(`/tasks/${id}:claim`, { sessionId });
const failedAttempts = async (id: string): Promise<number | undefined> =>
  (await baton.pool.row<{ n: number }>(sql`select failed_attempts as n from tasks where id = ${id}`))?.n;

test('no one can claim a task between its failure and the release of its claim', async () => {
  for (let round = 0; round < rounds; round += 1) {
    const held = await makeRun(baton, worker);
    const giveBack = async () => {
      await done(worker.actor.post(`/runs/${held.run.id}:fail`, {}));
      await done(worker.actor.post(`/claims/${held.claim.id}:release`, {}));
    };
    const tries = rivals.map(async (rival) => [
      await claim(rival, held.task.id),
      await claim(rival, held.task.id),
    ]);
    const [answers] = await Promise.all([Promise.all(tries), giveBack()]);
    for (const { body } of answers.flat())
      assert.match(body.error?.code, /^(task_already_claimed|task_not_due)$/, JSON.stringify(body));
    const { body } = await claim(rivals[0] as Worker, held.task.id);
    assert.equal(body.error.code, 'task_not_due');
  }
});

test('a claim concurrent with make-available gets the task or is refused as not due, and the pause ends', async () => {
  for (let round = 0; round < rounds; round += 1) {
    const { id } = await makeTask(baton);
    await failOnce(baton, worker, id);
    const [freed, ...claims] = await Promise.all([
      baton.admin.post(`/tasks/${id}:make-available`),
      ...rivals.map((rival) => claim(rival, id)),
    ]);
    assert.equal(freed.status, 200);
    const codes = claims.map(({ body }) => body.error?.code ?? 'granted');
    for (const code of codes) assert.match(code, /^(granted|task_not_due|task_already_claimed)$/);
    assert.ok(codes.filter((code) => code === 'granted').length <= 1);
    const { availableAt } = await done(baton.admin.get(`/tasks/${id}`));
    assert.equal(availableAt, null);
  }
});

test('when a task becomes due, exactly one of many callers claims it, and none before', async () => {
  const key = `t${newId()}`;
  const execution = { retry: { backoffSeconds: 1, maxBackoffSeconds: 1 } };
  await done(baton.admin.post('/task-types', { key, displayName: key, execution }), 201);
  const ids: string[] = [];
  for (let n = 0; n < 4; n += 1) ids.push((await makeTask(baton, { typeKey: key })).id);
  const dueAt = new Map<string, string>();
  for (const id of ids) dueAt.set(id, (await failOnce(baton, worker, id)).availableAt);
  const taken: any[] = [];
  const take = async ({ actor, sessionId }: Worker, n: number) => {
    if (n % 2 === 0) {
      const { items } = await done(actor.post('/work:claim-next', { sessionId, count: 2 }));
      taken.push(...items.map((item: any) => item.claim).filter(({ taskId }: any) => dueAt.has(taskId)));
      return;
    }
    for (const id of ids) {
      const { status, body } = await claim({ actor, sessionId }, id);
      if (status === 200) taken.push(body);
      else assert.match(body.error.code, /^(task_not_due|task_already_claimed)$/);
    }
  };
  await until(async () => {
    await Promise.all(rivals.map(take));
    return taken.length >= ids.length;
  }, 'all tasks to be claimed');
  assert.deepEqual(taken.map(({ taskId }) => taskId).sort(), [...ids].sort());
  for (const { taskId, acquiredAt } of taken)
    assert.ok(acquiredAt >= (dueAt.get(taskId) as string), `${acquiredAt} is before ${dueAt.get(taskId)}`);
});

test('a failure and the concurrent end of its lease count as one failed attempt', async () => {
  const job = expireDueClaims(background.tools);
  for (let round = 0; round < rounds; round += 1) {
    const { task, run } = await makeRun(baton, worker);
    await endClaimLease(baton, task.id);
    const end = round % 2 === 0 ? job.run() : claim(rivals[0] as Worker, task.id);
    await Promise.all([done(worker.actor.post(`/runs/${run.id}:fail`, {})), end]);
    await job.run();
    assert.equal(await failedAttempts(task.id), 1, `round ${round}`);
  }
});
