import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { byDepth, raceRounds } from '@baton/testing/depth';
import { expireDueClaims } from '../../execution/sweeper/sweeper.ts';
import type { Job } from '../../service/job.ts';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { checkLeaseInvariants } from '../../testing/execution/lease-invariants.ts';
import {
  claimTask,
  done,
  endClaimLease,
  eventsOf,
  makeTask,
  makeWorker,
  type Worker,
} from '../../testing/leases.ts';
import { makeWorkerTools } from '../../testing/sweepers.ts';

let baton: TestCoordination;
let worker: Worker;
let firstId: string;
let secondId: string;
let sweepClaims: Job;
let closeSweeper: () => Promise<void>;
before(async () => {
  baton = await startCoordination();
  worker = await makeWorker(baton);
  const { tools, close } = makeWorkerTools(baton);
  sweepClaims = expireDueClaims(tools);
  closeSweeper = close;
  const make = (claimStatus: string) =>
    done(
      baton.admin.post('/task-types', {
        key: 'racing',
        displayName: 'R',
        lifecycleSchema: {
          statuses: [
            { key: 'open', category: 'active' },
            { key: claimStatus, category: 'active' },
            { key: 'done', category: 'terminal_success' },
          ],
          initialStatus: 'open',
          transitions: [
            { from: 'open', to: [claimStatus, 'done'] },
            { from: claimStatus, to: ['open', 'done'] },
          ],
          claimStatus,
          releaseStatus: 'open',
        },
      }),
      201,
    );
  firstId = (await make('taken')).id;
  secondId = (await make('held')).id;
});
after(async () => {
  await closeSweeper();
  await baton.close();
});

/** Runs both calls at once; each of them is sent first in half of the rounds. */
async function race<A, B>(round: number, one: () => Promise<A>, other: () => Promise<B>): Promise<[A, B]> {
  if (round % 2 === 0) return Promise.all([one(), other()]);
  const second = other();
  return [await one(), await second];
}

const migrate = (id: string) => baton.admin.post(`/tasks/${id}:migrate-type`, {}, { 'if-match': 'task-1' });
const migrateAll = () => baton.admin.post(`/task-types/${firstId}:migrate-tasks`);

/** Checks that a task's status is one of its type and, under a claim, the one that the type gives to claimed tasks. */
async function checkStatuses(): Promise<void> {
  const wrong = await baton.pool.rows(sql`
    select t.id, t.status, tt.version from tasks t join task_types tt on tt.id = t.type_id
    where not exists (
        select from jsonb_array_elements(tt.lifecycle_schema -> 'statuses') s where s ->> 'key' = t.status)
      or (t.active_claim_id is not null and t.status <> tt.claim_status)`);
  assert.deepEqual(wrong, []);
}

test('a migration concurrent with a claim: the claimed task has the status of its version, and a claimed one is not migrated', async () => {
  const outcomes = { both: 0, claimed: 0 };
  for (let round = 0; round < raceRounds; round += 1) {
    const { id } = await makeTask(baton, { typeId: firstId });
    const [migration, claim] = await race(
      round,
      () => migrate(id),
      () => worker.actor.post(`/tasks/${id}:claim`, { sessionId: worker.sessionId }),
    );
    assert.equal(claim.status, 200, JSON.stringify(claim.body));
    const task = await done(baton.admin.get(`/tasks/${id}`));
    if (migration.status === 200) {
      outcomes.both += 1;
      assert.deepEqual([task.typeId, task.status], [secondId, 'held']);
    } else {
      outcomes.claimed += 1;
      assert.ok(['version_conflict', 'task_claimed'].includes(migration.body.error.code));
      assert.deepEqual([task.typeId, task.status], [firstId, 'taken']);
    }
    await done(worker.actor.post(`/claims/${claim.body.id}:release`));
  }
  assert.equal(outcomes.both + outcomes.claimed, raceRounds);
  await checkStatuses();
});

test('a migration concurrent with a completion: one of them sees the version of the other', async () => {
  for (let round = 0; round < raceRounds; round += 1) {
    const { id } = await makeTask(baton, { typeId: firstId });
    const [migration, completion] = await race(
      round,
      () => migrate(id),
      () => baton.admin.post(`/tasks/${id}:complete`, {}, { 'if-match': 'task-1' }),
    );
    assert.deepEqual([migration.status, completion.status].sort(), [200, 409], `round ${round}`);
    const task = await done(baton.admin.get(`/tasks/${id}`));
    assert.equal(task.typeId, migration.status === 200 ? secondId : firstId);
    assert.equal(task.status, completion.status === 200 ? 'done' : 'open');
    assert.equal((await eventsOf(baton, id)).length, 2);
  }
  await checkStatuses();
});

test('concurrent batches, claims and completions: each task is migrated at most once', async () => {
  // A batch ends after a second. Tasks that the tests above left unmigrated, because of claims, could use up that time,
  // so they are migrated now.
  while ((await done(migrateAll())).migrated.length > 0);
  for (let round = 0; round < byDepth(5, 50); round += 1) {
    const tasks = await Promise.all(Array.from({ length: 12 }, () => makeTask(baton, { typeId: firstId })));
    const ids = tasks.map(({ id }) => id as string);
    const [reports, claims] = await Promise.all([
      Promise.all([migrateAll(), migrateAll(), migrateAll()].map((answer) => done(answer))),
      Promise.all(
        ids.slice(0, 4).map((id) => worker.actor.post(`/tasks/${id}:claim`, { sessionId: worker.sessionId })),
      ),
      Promise.all(
        ids.slice(4, 8).map((id) => baton.admin.post(`/tasks/${id}:complete`, {}, { 'if-match': 'task-1' })),
      ),
    ]);
    const migrated = reports.flatMap((report) =>
      report.migrated.map(({ taskId }: { taskId: string }) => taskId),
    );
    assert.equal(new Set(migrated).size, migrated.length);
    for (const id of ids) {
      const { typeId, systemStatusCategory } = await done(baton.admin.get(`/tasks/${id}`));
      assert.equal(typeId, migrated.includes(id) ? secondId : firstId);
      const events = (await eventsOf(baton, id)).filter(({ type }) => type === 'task.type_migrated');
      assert.equal(events.length, migrated.includes(id) ? 1 : 0);
      if (typeId === firstId && systemStatusCategory === 'active') assert.ok(ids.slice(0, 4).includes(id));
    }
    await checkStatuses();
    for (const { body } of claims) await done(worker.actor.post(`/claims/${body.id}:release`));
  }
  await checkLeaseInvariants(baton);
});

test('a migration concurrent with the end of a dead claim: the claim ends once, and its task is released in its version', async () => {
  for (let round = 0; round < byDepth(8, 60); round += 1) {
    const tasks = await Promise.all(Array.from({ length: 6 }, () => makeTask(baton, { typeId: firstId })));
    const claims = await Promise.all(tasks.map(({ id }) => claimTask(worker, id)));
    for (const { id } of tasks) await endClaimLease(baton, id);
    const statusMap = { statusMap: { taken: 'held' } };
    const [{ migrated }] = await Promise.all([
      done(baton.admin.post(`/task-types/${firstId}:migrate-tasks`, statusMap)),
      ...claims.map(({ id }) => done(worker.actor.post(`/claims/${id}:release`))),
      sweepClaims.run(),
      sweepClaims.run(),
    ]);
    assert.equal(migrated.length >= 6, true, JSON.stringify(migrated));
    for (const { id } of tasks) {
      const task = await done(baton.admin.get(`/tasks/${id}`));
      assert.deepEqual([task.typeId, task.activeClaimId], [secondId, null]);
    }
    await checkStatuses();
  }
  await checkLeaseInvariants(baton);
});
