import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { byDepth, raceRounds } from '@baton/testing/depth';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';

const rivals = 64;
const takeOvers = byDepth(10, 50);
let baton: TestCoordination;
let agents: { actor: Actor; sessionId: string }[];

before(async () => {
  baton = await startCoordination();
  agents = await Promise.all(
    Array.from({ length: rivals }, async () => {
      const actor = await baton.actor();
      const opened = await actor.post('/sessions', { clientName: 'rival' });
      assert.equal(opened.status, 201);
      return { actor, sessionId: opened.body.id as string };
    }),
  );
});
after(() => baton.close());

async function makeTask(): Promise<string> {
  const made = await baton.admin.post('/tasks', { title: 'wanted by everybody' });
  assert.equal(made.status, 201);
  return made.body.id as string;
}

async function claimByAll(taskId: string) {
  const answers = await Promise.all(
    agents.map(({ actor, sessionId }) => actor.post(`/tasks/${taskId}:claim`, { sessionId })),
  );
  return {
    winners: answers.filter(({ status }) => status === 200),
    losers: answers.filter(({ status }) => status !== 200),
  };
}

test(`${rivals} rivals, ${raceRounds} rounds: at most one active claim per task, and one winner each time`, async () => {
  for (let round = 0; round < raceRounds; round += 1) {
    const taskId = await makeTask();
    const { winners, losers } = await claimByAll(taskId);
    assert.equal(winners.length, 1, `round ${round}`);
    assert.equal(winners[0]?.body.fencingToken, 1);
    for (const { status, body } of losers) {
      assert.equal(status, 409);
      assert.equal(body.error.code, 'task_already_claimed');
      assert.equal(body.error.details.claimId, winners[0]?.body.id);
    }
  }
});

test('a dead claim is taken over by one rival only, each time with the next fencing token', async () => {
  const taskId = await makeTask();
  for (let token = 1; token <= takeOvers; token += 1) {
    const { winners, losers } = await claimByAll(taskId);
    assert.deepEqual(
      winners.map(({ body }) => body.fencingToken),
      [token],
    );
    assert.equal(losers.length, rivals - 1);
    // Expire the lease directly, because the shortest lease is ten seconds.
    await baton.pool.run(
      sql`update claims set expires_at = now() - interval '1 ms' where task_id = ${taskId} and status = 'active'`,
    );
    await baton.pool.run(
      sql`update tasks set lease_expires_at = now() - interval '1 ms' where id = ${taskId}`,
    );
  }
  const rows = await baton.pool.rows<{ status: string; count: number }>(sql`
    select status, count(*) as count from claims where task_id = ${taskId} group by status order by status`);
  assert.deepEqual(rows, [
    { status: 'active', count: 1 },
    { status: 'stale', count: takeOvers - 1 },
  ]);
});

test('the journal contains every claim once, and every dead one before its successor', async () => {
  const events = await baton.pool.rows<{ type: string; task_id: string; token: number }>(sql`
    select type, coalesce(payload ->> 'taskId', entity_id::text) as task_id, (payload ->> 'fencingToken')::int as token
    from events where type in ('task.claimed', 'claim.expired') order by position, sequence`);
  const last = new Map<string, { type: string; token: number }>();
  for (const { type, task_id: taskId, token } of events) {
    const before = last.get(taskId);
    if (type === 'task.claimed') assert.equal(token, (before?.token ?? 0) + 1);
    if (before !== undefined && type === 'task.claimed') assert.equal(before.type, 'claim.expired');
    last.set(taskId, { type, token: token ?? before?.token ?? 0 });
  }
  assert.equal(events.filter(({ type }) => type === 'task.claimed').length, raceRounds + takeOvers);
});
