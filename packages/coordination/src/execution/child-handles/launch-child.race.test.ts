import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from '@baton/kernel/database/sql';
import { raceRounds } from '@baton/testing/depth';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { launch, makeFamily } from '../../testing/execution/children.ts';
import { checkLeaseInvariants } from '../../testing/execution/lease-invariants.ts';
import { makeWorker, type Worker } from '../../testing/leases.ts';
import { untilBlockedBy } from '../../testing/wait-until.ts';

let baton: TestCoordination;
let parent: Worker;
let child: Worker;
before(async () => {
  baton = await startCoordination();
  [parent, child] = [await makeWorker(baton), await makeWorker(baton)];
});
afterEach(async () => {
  await checkLeaseInvariants(baton);
  for (const [invariant, query] of Object.entries(violations))
    assert.deepEqual(await baton.pool.rows(query), [], invariant);
});
after(() => baton.close());

const violations = {
  "a run can't launch after its own launch was revoked": sql`
    select h.id from child_handles h join events revoked on revoked.payload ->> 'childHandleId' = h.id::text
      and revoked.type = 'run.child.revoked'
    join events launched on launched.entity_id = h.child_run_id and launched.type = 'run.child.launched'
      and (launched.position, launched.sequence) > (revoked.position, revoked.sequence)`,
};

const revoke = (handleId: string, cancelChild: boolean) =>
  parent.actor.post(`/child-handles/${handleId}:revoke`, { cancelChild });

for (const cancelChild of [false, true])
  test(`a revocation${cancelChild ? ' that cancels the child' : ''} waits for an earlier launch under it`, async () => {
    const made = await makeFamily(baton, { parent, child });
    const { launching, revoking } = await baton.pool.transaction(async (tx) => {
      // A launch creates a task of the type after it has read its own handle, so a lock on the type stops it in
      // between.
      await tx.run(sql`select from task_types where id = ${made.childTask.typeId} for update`);
      const sent = launch(child, made.child.run.id);
      await untilBlockedBy(tx, baton, sent);
      const asked = revoke(made.handle.id, cancelChild);
      assert.equal(await Promise.race([asked, sleep(300)]), undefined, 'the revocation did not wait');
      return { launching: sent, revoking: asked };
    });
    assert.deepEqual([(await launching).status, (await revoking).status], [201, 200]);
  });

test('a launch concurrent with the revocation of its run’s own launch either comes first or is refused', async () => {
  const seen = new Set<string>();
  for (let round = 0; round < raceRounds; round += 1) {
    const made = await makeFamily(baton, { parent, child });
    // A revocation takes less time than a launch, so it sometimes starts later.
    const [launched, revoked] = await Promise.all([
      launch(child, made.child.run.id),
      sleep(round % 8).then(() => revoke(made.handle.id, round % 2 === 0)),
    ]);
    assert.equal(revoked.status, 200, JSON.stringify(revoked.body));
    seen.add(launched.status === 201 ? 'launched' : launched.body.error.code);
  }
  for (const outcome of seen) assert.ok(['launched', 'child_handle_revoked'].includes(outcome), outcome);
});
