import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { launch, makeFamily } from '../../testing/execution/children.ts';
import { done, makeWorker, refused, type Worker } from '../../testing/leases.ts';

let baton: TestCoordination;
let parent: Worker;
let child: Worker;
before(async () => {
  baton = await startCoordination();
  [parent, child] = [await makeWorker(baton), await makeWorker(baton)];
});
after(() => baton.close());

test("a launched run without tasks.write in its grant can't launch children", async () => {
  const grant = { permissions: ['tasks.claim', 'tasks.read'] };
  const made = await makeFamily(baton, { parent, child }, { grant });
  const launched = launch(child, made.child.run.id, { grant: { permissions: ['admin'] } });
  assert.deepEqual(await refused(launched, 403, 'child_grant_exceeded'), {
    childHandleId: made.handle.id,
    required: ['tasks.write'],
  });
  const withIt = { permissions: [...grant.permissions, 'tasks.write'] };
  const writer = await makeFamily(baton, { parent, child }, { grant: withIt });
  await done(launch(child, writer.child.run.id), 201);
});

test('a revoked or expired launch is refused as such, before its grant is checked', async () => {
  const made = await makeFamily(baton, { parent, child }, { grant: { permissions: ['tasks.claim'] } });
  const expire = (when: string) =>
    baton.pool.run(
      sql`update child_handles set expires_at = now() + ${when}::interval where id = ${made.handle.id}`,
    );
  await expire('-1 second');
  await refused(launch(child, made.child.run.id), 409, 'child_handle_expired');
  await expire('1 hour');
  await refused(launch(child, made.child.run.id), 403, 'child_grant_exceeded');
  await done(parent.actor.post(`/child-handles/${made.handle.id}:revoke`));
  await refused(launch(child, made.child.run.id), 409, 'child_handle_revoked');
});
