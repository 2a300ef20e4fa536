import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { sql } from '@baton/kernel/database/sql';
import { byDepth } from '@baton/testing/depth';
import type { Job } from '../../service/job.ts';
import { type Answer, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { checkLeaseInvariants } from '../../testing/execution/lease-invariants.ts';
import { done, endClaimLease, makeTask, makeWorker, openSession, type Worker } from '../../testing/leases.ts';
import { makeWorkerTools } from '../../testing/sweepers.ts';
import { expireDueClaims } from '../sweeper/sweeper.ts';

// Random concurrent requests of several agents for a few tasks. app/model.property.test.ts sends them sequentially and
// compares the results with a model.

const workersCount = 3;
const tasksCount = 2;

let baton: TestCoordination;
let workers: Worker[];
let sweeper: { claims: Job; close(): Promise<void> };

before(async () => {
  baton = await startCoordination();
  const permissions = ['sessions.open', 'tasks.read', 'tasks.write', 'tasks.claim'] as const;
  workers = await Promise.all(Array.from({ length: workersCount }, () => makeWorker(baton, { permissions })));
  const { tools, close } = makeWorkerTools(baton);
  sweeper = { claims: expireDueClaims(tools), close };
});
after(async () => {
  await sweeper.close();
  await baton.close();
});

interface Held {
  id: string;
  taskId: string;
  token: number;
}

interface World {
  taskIds: string[];
  claims: Held[];
  runIds: string[];
}

const verbs = [
  'claim',
  'beat',
  'release',
  'reclaim',
  'expire',
  'sweep',
  'close',
  'patch',
  'complete',
  'start',
  'succeed',
] as const;

interface Step {
  verb: (typeof verbs)[number];
  worker: number;
  task: number;
  /** An index into the existing claims or runs, newest first. */
  back: number;
  flag: boolean;
}

const step: fc.Arbitrary<Step> = fc.record({
  verb: fc.constantFrom(...verbs, 'claim' as const, 'start' as const),
  worker: fc.nat(workersCount - 1),
  task: fc.nat(tasksCount - 1),
  back: fc.nat(3),
  flag: fc.boolean(),
});

async function makeWorld(): Promise<World> {
  const made = await Promise.all(Array.from({ length: tasksCount }, () => makeTask(baton)));
  return { taskIds: made.map(({ id }) => id), claims: [], runIds: [] };
}

/** Checks that every principal that changed a title held the claim at that position of the journal. */
async function checkWriters(): Promise<void> {
  const strays = await baton.pool.rows(sql`
    select * from (
      select e.type, e.payload #>> '{changes,title}' as title,
        (select c.payload ->> 'claimId' from events c
          where c.type = 'task.claimed' and c.entity_id = e.entity_id and (c.position, c.sequence) < (e.position, e.sequence)
          order by c.position desc, c.sequence desc limit 1) as claim_id
      from events e where e.type = 'task.updated') written
    where title <> 'written under ' || claim_id`);
  assert.deepEqual(strays, [], 'a stale writer wrote');
}

test('all agents at once: no failure, one active claim, increasing tokens, and no write by a stale holder', async () => {
  const together = 6;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 24, maxLength: 48 }), async (steps) => {
      const world = await makeWorld();
      // Two agents start with a claim.
      for (const n of [0, 1])
        await attempt(world, { verb: 'claim', worker: n, task: n, back: 0, flag: false });
      for (let from = 0; from < steps.length; from += together) {
        const results = await Promise.all(
          steps.slice(from, from + together).map((one) => attempt(world, one)),
        );
        for (const status of results) assert.ok(status < 500, `answered ${status}`);
      }
    }),
    { numRuns: byDepth(5, 15), endOnFailure: true },
  );
  await checkLeaseInvariants(baton);
  await checkWriters();
});

/** One request of a step; its results are available to later steps. */
async function attempt(world: World, { verb, worker: n, task: t, back, flag }: Step): Promise<number> {
  const { actor, sessionId } = workers[n] as Worker;
  const taskId = world.taskIds[t] as string;
  const ifMatch = async (id: string) => ({
    'if-match': `task-${(await done(actor.get(`/tasks/${id}`))).version}`,
  });
  const hold = ({ status, body }: Answer) => {
    if (status === 200) world.claims.push({ id: body.id, taskId: body.taskId, token: body.fencingToken });
    return status;
  };
  if (verb === 'claim') return hold(await actor.post(`/tasks/${taskId}:claim`, { sessionId }));
  const claim = world.claims.at(-1 - (back % world.claims.length)) as Held;
  const keys = { claimId: claim.id, fencingToken: claim.token };
  switch (verb) {
    case 'reclaim':
      return hold(await actor.post(`/claims/${claim.id}:reclaim`, { sessionId }));
    case 'expire':
      await endClaimLease(baton, taskId);
      return 200;
    case 'sweep':
      await sweeper.claims.run();
      return 200;
    case 'close': {
      const { status } = await actor.post(`/sessions/${sessionId}:close`);
      workers[n] = { actor, sessionId: await openSession(actor) };
      return status;
    }
    case 'beat':
      return (await actor.post(`/claims/${claim.id}:heartbeat`)).status;
    case 'release':
      return (await actor.post(`/claims/${claim.id}:release`)).status;
    case 'patch': {
      const { taskId: id } = claim;
      const body = { title: `written under ${claim.id}`, ...keys };
      return (await actor.patch(`/tasks/${id}`, body, await ifMatch(id))).status;
    }
    case 'complete': {
      const { taskId: id } = claim;
      return (await actor.post(`/tasks/${id}:complete`, flag ? keys : {}, await ifMatch(id))).status;
    }
    case 'start': {
      const { status, body } = await actor.post(`/tasks/${claim.taskId}:start-run`, keys);
      if (status === 201) world.runIds.push(body.id);
      return status;
    }
    case 'succeed': {
      const runId = world.runIds.at(-1 - back);
      return runId === undefined
        ? 200
        : (await actor.post(`/runs/${runId}:succeed`, { completeTask: flag })).status;
    }
  }
}
