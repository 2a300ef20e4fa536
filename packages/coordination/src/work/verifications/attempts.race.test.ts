import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { raceRounds } from '@baton/testing/depth';
import { sendRequest, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { makeTask, makeWorker, type Worker } from '../../testing/leases.ts';

const acceptance = [{ key: 'looked-at', kind: 'human', description: 'A person has reviewed it.' }];

let baton: TestCoordination;
let second: { url: string };
let workers: Worker[];
before(async () => {
  baton = await startCoordination();
  second = await baton.another();
  workers = await Promise.all([makeWorker(baton), makeWorker(baton)]);
});
after(() => baton.close());

const complete = (url: string, id: string, version = 1) =>
  sendRequest(`${url}/api/v1/tasks/${id}:complete`, 'POST', {
    token: baton.admin.token,
    body: {},
    headers: { 'if-match': `task-${version}` },
  });

test('a claim and the opening of an attempt never both win', async () => {
  const won = { claim: 0, attempt: 0 };
  for (let round = 0; round < raceRounds; round += 1) {
    const task = await makeTask(baton, { acceptance });
    const [opened, ...claims] = await Promise.all([
      complete(round % 2 === 0 ? baton.url : second.url, task.id),
      ...workers.map(({ actor, sessionId }) => actor.post(`/tasks/${task.id}:claim`, { sessionId })),
    ]);
    const claimed = claims.filter(({ status }) => status === 200).length;
    assert.equal(claimed + (opened?.status === 200 ? 1 : 0), 1, `round ${round}`);
    const state = await baton.pool.row(sql<{ claimed: boolean; open: boolean }>`
      select active_claim_id is not null as claimed, open_verification_id is not null as open
      from tasks where id = ${task.id}`);
    assert.notEqual(state?.claimed, state?.open, `round ${round}`);
    if (state?.open === true) won.attempt += 1;
    else won.claim += 1;
  }
  assert.ok(won.claim > 0 || won.attempt > 0);
});

test('of several concurrent completions, one opens an attempt, and there is never a second', async () => {
  for (let round = 0; round < raceRounds; round += 1) {
    const task = await makeTask(baton, { acceptance });
    const answers = await Promise.all(
      [0, 1, 2, 3].map((n) => complete(n < 2 ? baton.url : second.url, task.id)),
    );
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409, 409, 409], `round ${round}`);
    const attempts = await baton.pool.rows(sql`select from verifications where task_id = ${task.id}`);
    assert.equal(attempts.length, 1);
  }
});

test('of a completion and a cancellation one wins, and no attempt stays open on a cancelled task', async () => {
  for (let round = 0; round < raceRounds; round += 1) {
    const task = await makeTask(baton, { acceptance });
    const cancel = baton.admin.patch(`/tasks/${task.id}`, { status: 'cancelled' }, { 'if-match': 'task-1' });
    const answers = await Promise.all([complete(second.url, task.id), cancel]);
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409], `round ${round}`);
    const open = await baton.pool.rows(sql`
      select from tasks where id = ${task.id} and category = 'terminal_cancelled' and open_verification_id is not null`);
    assert.equal(open.length, 0);
  }
});
