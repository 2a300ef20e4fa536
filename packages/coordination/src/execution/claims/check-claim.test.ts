import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import {
  claimTask,
  delegate,
  done,
  endClaimLease,
  endDelegation,
  endSessionLease,
  makeTask,
  makeWorker,
  openSession,
  refused,
  type Worker,
} from '../../testing/leases.ts';

let baton: TestCoordination;
let worker: Worker;
let gateway: Worker['actor'];
before(async () => {
  baton = await startCoordination();
  worker = await makeWorker(baton);
  gateway = await baton.actor({ kind: 'service', permissions: ['tasks.read'] });
});
after(() => baton.close());

async function held(more: object = {}) {
  const sessionId = await openSession(worker.actor, more);
  const task = await makeTask(baton);
  return { task, sessionId, claim: await claimTask({ ...worker, sessionId }, task.id) };
}
type Held = Awaited<ReturnType<typeof held>>;
const check = (claim: Held['claim'], fencingToken = claim.fencingToken, by = gateway) =>
  by.post(`/claims/${claim.id}:check`, { fencingToken });

test('every reader of tasks sees that a live claim is live, and the check changes no state', async () => {
  const { task, claim } = await held();
  assert.deepEqual(await done(check(claim)), {
    live: true,
    reason: 'live',
    taskId: task.id,
    holderId: worker.actor.principalId,
    expiresAt: claim.expiresAt,
  });
  assert.deepEqual(await done(worker.actor.get(`/claims/${claim.id}`)), claim);
});

test('returns the reason why a claim is not live', async () => {
  const takeOver = async ({ task }: Held) => {
    await endClaimLease(baton, task.id);
    await claimTask(worker, task.id);
  };
  const cases: [reason: string, end: (held: Held) => unknown][] = [
    ['released', ({ claim }) => worker.actor.post(`/claims/${claim.id}:release`)],
    ['released', ({ sessionId }) => worker.actor.post(`/sessions/${sessionId}:close`)],
    ['expired', ({ task }) => endClaimLease(baton, task.id)],
    ['session_inactive', ({ sessionId }) => endSessionLease(baton, sessionId)],
    ['superseded', takeOver],
    [
      'superseded',
      async (held) => (await worker.actor.post(`/claims/${held.claim.id}:release`), takeOver(held)),
    ],
    [
      'expired',
      ({ claim }) =>
        baton.pool.run(
          sql`update claims set status = 'stale', released_at = now(), release_reason = 'expired' where id = ${claim.id}`,
        ),
    ],
    [
      'session_inactive',
      ({ claim }) =>
        baton.pool.run(
          sql`update claims set status = 'stale', released_at = now(), release_reason = 'session_inactive' where id = ${claim.id}`,
        ),
    ],
  ];
  for (const [reason, end] of cases) {
    const made = await held();
    await end(made);
    const answer = await done(check(made.claim));
    assert.deepEqual([answer.live, answer.reason], [false, reason]);
  }
});

test('a token other than that of the claim is superseded', async () => {
  const { claim } = await held();
  for (const token of [0, 2, -1, 2 ** 53 - 1])
    assert.equal((await done(check(claim, token))).reason, 'superseded');
});

test('the end of a delegation, or a disabled person, ends the claim', async () => {
  const human = await baton.actor({ kind: 'human' });
  const delegationId = await delegate(human, worker.actor, baton);
  const { claim } = await held({ onBehalfOf: human.principalId });
  assert.equal((await done(check(claim))).reason, 'live');
  await endDelegation(baton, delegationId);
  assert.equal((await done(check(claim))).reason, 'session_inactive');
});

test('an unknown claim, or one of another tenant, returns 404', async () => {
  const { claim } = await held();
  await refused(check({ ...claim, id: newId() }), 404, 'not_found');
  await refused(check(claim, 1, baton.otherAdmin), 404, 'not_found');
  await refused(gateway.post(`/claims/${claim.id}:check`, {}), 400, 'invalid_request');
});
