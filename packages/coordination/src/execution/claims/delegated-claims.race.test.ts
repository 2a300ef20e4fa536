import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { delegate, makeTask, makeWorker, openSession, type Worker } from '../../testing/leases.ts';
import { untilBlockedBy } from '../../testing/wait-until.ts';

let baton: TestCoordination;
let worker: Worker;
let person: Actor;
before(async () => {
  baton = await startCoordination();
  worker = await makeWorker(baton);
  person = await baton.actor({ kind: 'human' });
  await delegate(person, worker.actor, baton);
});
after(() => baton.close());

/**
 * Claims a task on behalf of the person, and runs the statement of `meanwhile` while another transaction holds the
 * person's lock exclusively.
 */
async function claimDuring(meanwhile: () => ReturnType<typeof sql> | undefined) {
  const task = await makeTask(baton);
  const sessionId = await openSession(worker.actor, { onBehalfOf: person.principalId });
  const { claiming } = await baton.pool.transaction(async (tx) => {
    await tx.row(sql`select pg_advisory_xact_lock(principal_lock(${person.principalId}))`);
    const claiming = worker.actor.post(`/tasks/${task.id}:claim`, { sessionId });
    await untilBlockedBy(tx, baton, claiming);
    const statement = meanwhile();
    if (statement !== undefined) await tx.run(statement);
    return { claiming };
  });
  return claiming;
}

test('a claim on behalf of a person waits for a command with an exclusive lock on the person, then succeeds', async () => {
  const answer = await claimDuring(() => undefined);
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
});

test('a claim that waited while the person was disabled is refused', async () => {
  const answer = await claimDuring(
    () => sql`
      insert into endings (id, tenant_id, principal_id, reason, acknowledged_at)
      values (gen_random_uuid(), ${baton.tenantId}, ${person.principalId}, 'principal_disabled', clock_timestamp())`,
  );
  assert.deepEqual(
    [answer.status, answer.body.error?.code],
    [409, 'session_not_active'],
    JSON.stringify(answer.body),
  );
});
