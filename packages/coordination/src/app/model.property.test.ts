import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { byDepth } from '@baton/testing/depth';
import { expireDueClaims } from '../execution/sweeper/sweeper.ts';
import { startCoordination, type TestCoordination } from '../testing/coordination.ts';
import { checkLeaseInvariants } from '../testing/execution/lease-invariants.ts';
import { makeWorker } from '../testing/leases.ts';
import { type Cast, runHistory, step, workersCount } from '../testing/model/driver.ts';
import { makeWorkerTools } from '../testing/sweepers.ts';

/** The number of steps of all histories together; `npm run model` sends 20,000 and more. */
const stepsMin = Number(process.env['BATON_TEST_MODEL_STEPS'] ?? byDepth(300, 3000));
const stepsPerHistory = 60;

let baton: TestCoordination;
let cast: Cast;
let closeSweeper: () => Promise<void>;

before(async () => {
  baton = await startCoordination();
  const permissions = ['sessions.open', 'tasks.read', 'tasks.write', 'tasks.claim'] as const;
  const workers = await Promise.all(
    Array.from({ length: workersCount }, () => makeWorker(baton, { permissions })),
  );
  const person = await baton.actor({ kind: 'human', permissions: ['approvals.read', 'approvals.decide'] });
  const { tools, close } = makeWorkerTools(baton);
  closeSweeper = close;
  cast = { baton, workers, person, sweeper: expireDueClaims(tools) };
});
after(async () => {
  await closeSweeper();
  await baton.close();
});

test('responses, states and journal match the model for all actions of several principals on tasks, claims, runs, approvals and child handles', async () => {
  let sent = 0;
  while (sent < stepsMin)
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: stepsPerHistory, maxLength: stepsPerHistory }),
        async (steps) => {
          sent += await runHistory(cast, steps);
        },
      ),
      { numRuns: byDepth(5, 10), endOnFailure: true },
    );
  await checkLeaseInvariants(baton);
});
