import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { assertTookLess } from '@baton/testing/depth';
import { type Answer, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { claimTask, done, makeTask, openSession, refused } from '../../testing/leases.ts';
import { untilBlockedBy } from '../../testing/wait-until.ts';

// No write under a session succeeds after its close has been acknowledged
// (docs/reference/sessions.md#consequences-of-an-end). A close takes the session's lock exclusively; a command that
// doesn't share the lock may be in progress and commit later.

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

/** A new session with a claimed task and, on request, a run. */
async function busySession({ running = false } = {}) {
  const actor = await baton.actor();
  const sessionId = await openSession(actor);
  const [task, free] = [await makeTask(baton), await makeTask(baton)];
  const claim = await claimTask({ actor, sessionId }, task.id);
  const keys = { claimId: claim.id, fencingToken: claim.fencingToken };
  const run = running ? await done(actor.post(`/tasks/${task.id}:start-run`, keys), 201) : undefined;
  return { actor, sessionId, task, free, claim, keys, run };
}

type Busy = Awaited<ReturnType<typeof busySession>>;
type Headers = Record<string, string>;
const ifMatch = { 'if-match': 'task-2' };

const writers: Record<string, (busy: Busy, headers: Headers) => Promise<Answer>> = {
  claim: ({ actor, sessionId, free }, headers) =>
    actor.post(`/tasks/${free.id}:claim`, { sessionId }, headers),
  'session heartbeat': ({ actor, sessionId }, headers) =>
    actor.post(`/sessions/${sessionId}:heartbeat`, {}, headers),
  'claim heartbeat': ({ actor, claim }, headers) => actor.post(`/claims/${claim.id}:heartbeat`, {}, headers),
  "manager's claim heartbeat": ({ claim }, headers) =>
    baton.admin.post(`/claims/${claim.id}:heartbeat`, {}, headers),
  'start of a run': ({ actor, task, keys }, headers) =>
    actor.post(`/tasks/${task.id}:start-run`, keys, headers),
  'change of a task': ({ actor, task, keys }, headers) =>
    actor.patch(`/tasks/${task.id}`, { title: 'late', ...keys }, { ...ifMatch, ...headers }),
  completion: ({ actor, task, keys }, headers) =>
    actor.post(`/tasks/${task.id}:complete`, keys, { ...ifMatch, ...headers }),
  'success of a run': ({ actor, run }, headers) => actor.post(`/runs/${run.id}:succeed`, {}, headers),
};

for (const [name, write] of Object.entries(writers))
  for (const keyed of [false, true])
    test(`a ${name}${keyed ? ' with a key' : ''} waits for a close of its session and is refused`, async () => {
      const busy = await busySession({ running: name === 'success of a run' });
      const { answer } = await baton.pool.transaction(async (tx) => {
        await tx.run(sql`select pg_advisory_xact_lock(session_lock(${busy.sessionId}))`);
        await tx.run(
          sql`update sessions set status = 'closed', ended_at = now() where id = ${busy.sessionId}`,
        );
        const answer = write(busy, keyed ? { 'idempotency-key': `${name} ${busy.sessionId}` } : {});
        await untilBlockedBy(tx, baton, answer);
        return { answer };
      });
      const { status, body } = await answer;
      assert.equal(status, 409, JSON.stringify(body));
      assert.ok(['session_not_active', 'stale_claim'].includes(body.error.code), JSON.stringify(body));
    });

test('claims that wait for their tasks lose their connections to a close of their session', async () => {
  const { actor, sessionId } = await busySession();
  const tasks = await Promise.all([0, 1, 2].map(() => makeTask(baton)));
  const ids = tasks.map(({ id }) => id);
  const { claims } = await baton.pool.transaction(async (tx) => {
    await tx.run(sql`select from tasks where id = any (${ids}::uuid[]) for update`);
    const claims = ids.map((id) => actor.post(`/tasks/${id}:claim`, { sessionId }));
    for (const claim of claims) await untilBlockedBy(tx, baton, claim);
    const startedAt = performance.now();
    const { status } = await done(actor.post(`/sessions/${sessionId}:close`));
    assert.equal(status, 'closed');
    assertTookLess(startedAt, 3000);
    return { claims };
  });
  for (const claim of claims) assert.equal((await claim).status, 503);
  for (const { id } of tasks) assert.equal((await done(actor.get(`/tasks/${id}`))).activeClaimId, null);
});

test('a close does not wait for a task that another command has locked: its claim is released later', async () => {
  const { actor, sessionId, task, claim } = await busySession();
  await baton.pool.transaction(async (tx) => {
    await tx.run(sql`select from tasks where id = ${task.id} for update`);
    assert.equal((await done(actor.post(`/sessions/${sessionId}:close`))).status, 'closed');
  });
  await refused(actor.post(`/claims/${claim.id}:heartbeat`), 409, 'session_not_active');
  await done(baton.admin.post(`/tasks/${task.id}:claim`, { sessionId: await openSession(baton.admin) }));
});
