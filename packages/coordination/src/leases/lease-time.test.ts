import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { type Statement, sql } from '@baton/kernel/database/sql';
import { byDepth } from '@baton/testing/depth';
import { startCoordination, type TestCoordination } from '../testing/coordination.ts';
import { checkLeaseInvariants } from '../testing/execution/lease-invariants.ts';
import {
  claimTask,
  delegate,
  done,
  endClaimLease,
  makeTask,
  makeWorker,
  openSession,
  refused,
  type Worker,
} from '../testing/leases.ts';
import { until } from '../testing/wait-until.ts';

// A lease is compared with the database's clock after the locks are held (docs/reference/claims.md#leases): a command
// that waited for a row uses the time at which it locked the row. Here, another connection holds the row without
// changing it: PostgreSQL then continues without evaluating the conditions again.

let baton: TestCoordination;
let worker: Worker;
let rival: Worker;
let keys = 0;

before(async () => {
  baton = await startCoordination({ CP_CLAIM_TTL_MIN_SECONDS: '1', CP_SESSION_TTL_MIN_SECONDS: '1' });
  [worker, rival] = [await makeWorker(baton), await makeWorker(baton)];
});
afterEach(() => checkLeaseInvariants(baton));
after(() => baton.close());

const lockOf = {
  task: (id: string) => sql<object>`select from tasks where id = ${id} for update`,
  session: (id: string) => sql<object>`select pg_advisory_xact_lock(session_lock(${id}))`,
  sessionRow: (id: string) => sql<object>`select from sessions where id = ${id} for no key update`,
  principal: (id: string) => sql<object>`select pg_advisory_xact_lock(principal_lock(${id}))`,
};

/** Sends requests while another connection holds a row, and releases the row once `isTime` returns true. */
async function whileHeld<T>(
  row: Statement<object>,
  send: () => Promise<T>[],
  isTime: () => Promise<boolean>,
): Promise<{ answers: T[]; freedAt: string }> {
  const { answers, freedAt } = await baton.pool.transaction(async (tx) => {
    const { pid } = (await tx.row(sql<{ pid: number }>`select pg_backend_pid() as pid`)) as { pid: number };
    await tx.row(row);
    const sent = send();
    const waiting = sql<{ n: number }>`
      select count(*)::int as n from pg_stat_activity where ${pid}::int = any (pg_blocking_pids(pid))`;
    await until(async () => ((await baton.pool.row(waiting))?.n ?? 0) > 0);
    await until(isTime);
    const now = await tx.row(sql<{ at: string }>`select clock_timestamp()::timestamptz(3) as at`);
    return { answers: sent, freedAt: (now as { at: string }).at };
  });
  return { answers: await Promise.all(answers), freedAt };
}

/** Half of the calls carry an Idempotency-Key: those run in one transaction from the start. */
const keyed = () => ({ 'idempotency-key': `key ${(keys += 1)}` });
/** The time that a command waits for its row, and the length of a lease that expires during the wait. */
const waitMs = byDepth(300, 1100);
const leaseOver = (claimId: string) => async () =>
  (await baton.pool.row(
    sql`select from claims where id = ${claimId} and expires_at <= clock_timestamp()`,
  )) !== undefined;
const sessionOver = (sessionId: string) => async () =>
  (await baton.pool.row(
    sql`select from sessions where id = ${sessionId} and expires_at <= clock_timestamp()`,
  )) !== undefined;
const afterAWait = () => {
  const endMs = performance.now() + waitMs;
  return async () => performance.now() > endMs;
};
const lifeMs = (from: string, to: string) => Date.parse(to) - Date.parse(from);
const keysOf = ({ id, fencingToken }: { id: string; fencingToken: number }) => ({
  claimId: id,
  fencingToken,
});

async function held(by = worker) {
  const task = await makeTask(baton);
  return { task, claim: await claimTask(by, task.id, { ttlSeconds: 60 }) };
}

/** Sets the lease of a session to expire in `inMs`. */
async function endSessionLeaseIn(sessionId: string, inMs: number): Promise<void> {
  await baton.pool.run(sql`
    update sessions set expires_at = ends_at, sweep_at = ends_at
    from (select clock_timestamp() + make_interval(secs => ${inMs / 1000}) as ends_at) as soon where id = ${sessionId}`);
}

for (const headers of [() => ({}), keyed]) {
  const how = headers === keyed ? ' with a key' : '';

  test(`a heartbeat${how} that waited past the end of its claim's lease is refused`, async () => {
    const { task, claim } = await held();
    const beat = () => [worker.actor.post(`/claims/${claim.id}:heartbeat`, {}, headers())];
    await endClaimLease(baton, task.id, waitMs);
    const { answers } = await whileHeld(lockOf.task(task.id), beat, leaseOver(claim.id));
    await refused(Promise.resolve(answers[0] as never), 409, 'claim_expired');
    await claimTask(rival, task.id);
  });

  test(`a heartbeat${how} that waited grants the whole lease from the time at which it locked the task`, async () => {
    const { task, claim } = await held();
    const beat = () => [worker.actor.post(`/claims/${claim.id}:heartbeat`, { ttlSeconds: 2 }, headers())];
    const { answers, freedAt } = await whileHeld(lockOf.task(task.id), beat, afterAWait());
    const { expiresAt, heartbeatAt } = await done(Promise.resolve(answers[0] as never));
    assert.equal(lifeMs(heartbeatAt, expiresAt), 2000);
    assert.ok(lifeMs(freedAt, expiresAt) >= 2000, `${lifeMs(freedAt, expiresAt)} ms`);
  });

  for (const row of ['task', 'session', 'principal'] as const)
    test(`a claim${how} that waited for its ${row} begins when it is granted`, async () => {
      const task = await makeTask(baton);
      const ids = { task: task.id, session: worker.sessionId, principal: worker.actor.principalId };
      const claim = () => [
        worker.actor.post(
          `/tasks/${task.id}:claim`,
          { sessionId: worker.sessionId, ttlSeconds: 2 },
          headers(),
        ),
      ];
      const { answers, freedAt } = await whileHeld(lockOf[row](ids[row]), claim, afterAWait());
      const { acquiredAt, heartbeatAt, expiresAt } = await done(Promise.resolve(answers[0] as never));
      assert.equal(lifeMs(acquiredAt, expiresAt), 2000);
      assert.equal(heartbeatAt, acquiredAt);
      assert.ok(lifeMs(freedAt, expiresAt) >= 2000, `${lifeMs(freedAt, expiresAt)} ms`);
    });

  test(`a claim${how} that waited past the end of its session's lease is refused`, async () => {
    const [task, sessionId] = [await makeTask(baton), await openSession(worker.actor)];
    const claim = () => [worker.actor.post(`/tasks/${task.id}:claim`, { sessionId }, headers())];
    await endSessionLeaseIn(sessionId, waitMs);
    const { answers } = await whileHeld(lockOf.task(task.id), claim, sessionOver(sessionId));
    await refused(Promise.resolve(answers[0] as never), 409, 'session_expired');
  });

  test(`a write${how} that waited past the end of its lease is refused`, async () => {
    const { task, claim } = await held();
    const ifMatch = { 'if-match': 'task-2' };
    const write = () => [
      worker.actor.patch(
        `/tasks/${task.id}`,
        { title: 'late', ...keysOf(claim) },
        { ...ifMatch, ...headers() },
      ),
      worker.actor.post(`/tasks/${task.id}:complete`, keysOf(claim), { ...ifMatch, ...headers() }),
      worker.actor.post(`/tasks/${task.id}:start-run`, keysOf(claim), headers()),
    ];
    await endClaimLease(baton, task.id, waitMs);
    const { answers } = await whileHeld(lockOf.task(task.id), write, leaseOver(claim.id));
    for (const answer of answers) await refused(Promise.resolve(answer), 409, 'stale_claim');
  });

  test(`a run${how} whose end waited past the end of its lease doesn't complete the task`, async () => {
    const { task, claim } = await held();
    const run = await done(worker.actor.post(`/tasks/${task.id}:start-run`, keysOf(claim)), 201);
    const succeed = () => [worker.actor.post(`/runs/${run.id}:succeed`, {}, headers())];
    await endClaimLease(baton, task.id, waitMs);
    const { answers } = await whileHeld(lockOf.task(task.id), succeed, leaseOver(claim.id));
    await refused(Promise.resolve(answers[0] as never), 409, 'stale_claim');
  });

  test(`a heartbeat${how} that waited past the end of its session's lease is refused, and that is recorded`, async () => {
    const sessionId = await openSession(worker.actor);
    const beat = () => [worker.actor.post(`/sessions/${sessionId}:heartbeat`, {}, headers())];
    await endSessionLeaseIn(sessionId, waitMs);
    const { answers } = await whileHeld(lockOf.sessionRow(sessionId), beat, sessionOver(sessionId));
    await refused(Promise.resolve(answers[0] as never), 409, 'session_expired');
    const { status, endedAt, expiresAt } = await done(worker.actor.get(`/sessions/${sessionId}`));
    assert.equal(status, 'stale');
    assert.ok(lifeMs(expiresAt, endedAt) >= 0, `${expiresAt} ${endedAt}`);
  });

  test(`a session${how} whose opening waited begins when it is opened`, async () => {
    const human = await baton.actor({ kind: 'human' });
    await delegate(human, worker.actor, baton);
    const body = { clientName: 'test-harness', onBehalfOf: human.principalId, ttlSeconds: 2 };
    const open = () => [worker.actor.post('/sessions', body, headers())];
    const { answers, freedAt } = await whileHeld(lockOf.principal(human.principalId), open, afterAWait());
    const { startedAt, heartbeatAt, expiresAt } = await done(Promise.resolve(answers[0] as never), 201);
    assert.equal(lifeMs(startedAt, expiresAt), 2000);
    assert.equal(heartbeatAt, startedAt);
    assert.ok(lifeMs(freedAt, expiresAt) >= 2000, `${lifeMs(freedAt, expiresAt)} ms`);
  });
}

test("a rival that waited does not compare the holder's session with a lease that was renewed meanwhile", async () => {
  const sessionId = await openSession(worker.actor);
  const task = await makeTask(baton);
  const claim = await claimTask({ ...worker, sessionId }, task.id, { ttlSeconds: 60 });
  const end = sql`update tasks set lease_expires_at = clock_timestamp() - interval '1 second' where id = ${task.id}`;
  await baton.pool.run(end);
  const extend = sql<object>`
    update tasks set lease_expires_at = (select expires_at from claims where id = ${claim.id}) where id = ${task.id}`;
  const take = () => [rival.actor.post(`/tasks/${task.id}:claim`, { sessionId: rival.sessionId })];
  // Long enough for the first heartbeat to arrive.
  const oldLeaseMs = byDepth(6000, 3000);
  const endsMs = performance.now() + oldLeaseMs;
  await endSessionLeaseIn(sessionId, oldLeaseMs);
  let renewed: Promise<unknown> | undefined;
  const { answers } = await whileHeld(extend, take, async () => {
    renewed ??= done(worker.actor.post(`/sessions/${sessionId}:heartbeat`, { ttlSeconds: 60 }));
    await renewed;
    return performance.now() > endsMs + 100;
  });
  await refused(Promise.resolve(answers[0] as never), 409, 'task_already_claimed');
  await done(worker.actor.post(`/claims/${claim.id}:heartbeat`));
});
