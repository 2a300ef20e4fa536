import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { forceCancel, makeFamily, say } from '../../testing/execution/children.ts';
import { checkLeaseInvariants } from '../../testing/execution/lease-invariants.ts';
import { done, makeWorker, type Worker } from '../../testing/leases.ts';
import { makeWorkerTools } from '../../testing/sweepers.ts';
import { continueCascades } from './cascades.ts';

/** Keys of messages that the service sends by itself, already used by the executor of the receiving run. */

let baton: TestCoordination;
let parent: Worker;
let child: Worker;

before(async () => {
  baton = await startCoordination();
  [parent, child] = [await makeWorker(baton), await makeWorker(baton)];
});
afterEach(() => checkLeaseInvariants(baton));
after(() => baton.close());

const family = () => makeFamily(baton, { parent, child });
const runOf = (id: string) => done(baton.admin.get(`/runs/${id}`));
/** Blanks around a key are trimmed, so both forms are used. */
const takeKey = (runId: string, key: string) =>
  done(
    say(child.actor, runId, { operation: 'queue', directive: 'x' }, { 'idempotency-key': ` ${key}` }),
    201,
  );

test('a child cannot prevent its own revocation', async () => {
  const { handle, child: below } = await family();
  await takeKey(below.run.id, `revoke:${handle.id}`);
  await done(parent.actor.post(`/child-handles/${handle.id}:revoke`, { cancelChild: true }));
  assert.notEqual((await runOf(below.run.id)).cancelRequestedAt, null);
});

test('a child cannot escape the cancel request that its parent applies', async () => {
  const { run, claim, child: below } = await family();
  const ask = { operation: 'request_cancel', reason: 'stop' };
  const { controlMessage } = await done(say(baton.admin, run.id, ask), 201);
  await takeKey(below.run.id, `cascade:${controlMessage.id}`);
  await done(
    parent.actor.post(`/runs/${run.id}/control-messages/${controlMessage.id}:acknowledge`, {
      status: 'applied',
      claimId: claim.id,
      fencingToken: claim.fencingToken,
      expectedRunVersion: 2,
      expectedMessageVersion: 1,
      safeBoundary: 'now',
    }),
  );
  assert.notEqual((await runOf(below.run.id)).cancelRequestedAt, null);
});

test('a child cannot escape a forced cancellation that the worker continues', async () => {
  const { run, childTask, child: below } = await family();
  const { controlMessage } = await baton.pool.transaction(async (tx) => {
    await tx.run(sql`select from tasks where id = ${childTask.id} for update`);
    return done(say(baton.admin, run.id, forceCancel), 201);
  });
  await takeKey(below.run.id, `cascade:${controlMessage.id}`);
  const { tools, close } = makeWorkerTools(baton);
  try {
    assert.equal(await continueCascades(tools).run(), 1);
  } finally {
    await close();
  }
  assert.equal((await runOf(below.run.id)).failureReason, 'parent_force_cancel');
});
