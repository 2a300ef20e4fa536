import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { sql } from '@baton/kernel/database/sql';
import { definitions, type Spec } from '@baton/process-engine/engine/testing/random-definitions';
import { byDepth } from '@baton/testing/depth';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { insertTestType } from '../../testing/definitions/task-type.ts';
import { done } from '../../testing/leases.ts';
import {
  makeProcessAgent,
  makeProcessWorker,
  processAgentPermissions,
  startProcessInstance,
} from '../../testing/processes/process-instances.ts';
import { makeCallable } from '../../testing/results/invocations.ts';
import { compareWithInterpreter } from './testing/compare-instance.ts';
import { killAtRandom } from './testing/kill-workers.ts';
import { actAtRandom, newKey, type Played, type Players, untilQuiet } from './testing/play-instances.ts';
import { publishable, shortened, type World, withoutProblems } from './testing/playable.ts';

// Tests random processes in the whole service, while its workers are killed, against a reference interpreter: each ends
// as the interpreter predicts, has each effect once, and waits for a visible object if it has not ended.

/** `npm run model -- process-histories 2000` runs 2,000 of them. */
const runs = Number(process.env['BATON_TEST_PROCESS_HISTORIES'] ?? byDepth(6, 60));
const seed = Number(process.env['BATON_TEST_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const batchMax = 20;
const playersAtOnce = 4;
const taskType = 'model-work';

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

test('random processes end as the interpreter predicts, regardless of killed workers', {
  timeout: 3_600_000,
}, async () => {
  const random = numbersFrom(seed);
  const agent = await makeProcessAgent(baton);
  const worker = makeProcessWorker(baton);
  await insertTestType(baton, { key: taskType, fieldSchema: { properties: { ok: { type: 'boolean' } } } });
  const executor = await baton.actor();
  const skill = await makeCallable(baton.admin, { name: newKey() });
  const endKilling = killAtRandom(baton, random);
  const seen: Record<string, number> = {};
  const specs = fc.sample(definitions, { numRuns: runs, seed });
  try {
    for (let at = 0; at < specs.length; at += batchMax) {
      const voters = await Promise.all([1, 2, 3].map(() => baton.actor({ kind: 'human' })));
      const players = { baton, random, executor, skill, voters };
      const world = {
        agentKey: agent.key,
        taskType,
        skill: `${skill.name}@${skill.version}`,
        voters: voters.map(({ principalId }) => principalId),
      };
      const batch: Played[] = [];
      for (const spec of specs.slice(at, at + batchMax)) batch.push(await begin(spec, world));
      await play(players, batch, agent.principalId, worker);
      await untilQuiet(
        baton,
        batch.map(({ id }) => id),
        () => goOn(worker),
      );
      for (const one of batch) {
        const { status, kinds } = await compareWithInterpreter(baton.pool, one);
        for (const name of [status, ...kinds]) seen[name] = (seen[name] ?? 0) + 1;
      }
    }
  } catch (error) {
    console.error(`seed ${seed}`);
    throw error;
  } finally {
    const kills = await endKilling();
    await worker.close();
    console.log(`${JSON.stringify(seen)}; cut off: ${JSON.stringify(kills)}`);
  }
});

async function begin(random: Spec, world: World): Promise<Played> {
  const key = newKey();
  const { admin } = baton;
  let spec = shortened(random);
  for (;;) {
    const answer = await admin.post('/process-definitions', { key, spec: publishable(spec, key, world) });
    if (answer.status === 201) break;
    assert.equal(answer.status, 422, JSON.stringify(answer.body));
    const { problems } = answer.body.error.details;
    const errors = problems.filter(({ severity }: { severity: string }) => severity === 'error');
    spec = withoutProblems(spec, errors);
  }
  const { id } = await startProcessInstance(admin, key, { n: 0 }, key);
  return { id, key, spec, accepted: {}, isOver: false };
}

/** Several people act on random instances at the same time, even while the agent cannot act or a voter has left. */
async function play(
  players: Players,
  batch: readonly Played[],
  agentId: string,
  worker: Worker,
): Promise<void> {
  const { random, voters } = players;
  const acting = async (acts: number) => {
    const act = async () => {
      for (let n = 0; n < (batch.length * acts) / playersAtOnce; n += 1) {
        const open = batch.filter(({ isOver }) => !isOver);
        const one = open[Math.floor(random() * open.length)];
        if (one === undefined) return;
        await actAtRandom(players, one);
      }
    };
    await Promise.all(Array.from({ length: playersAtOnce }, act));
  };
  await acting(7);
  if (random() < 0.6) {
    await grant(agentId, []);
    await acting(4);
    await goOn(worker);
    await grant(agentId, processAgentPermissions);
  }
  if (random() < 0.3) {
    const left = `/principals/${voters[2]?.principalId}:disable`;
    await done(baton.admin.post(left, { reason: 'at random' }));
  }
  await acting(7);
}

async function grant(principalId: string, permissions: readonly string[]): Promise<void> {
  await baton.pool.run(sql`
    update iam_bindings set permissions = ${permissions} where principal_id = ${principalId}`);
}

type Worker = ReturnType<typeof makeProcessWorker>;

async function goOn(worker: Worker): Promise<void> {
  await worker.run();
  await worker.timers();
}

/** Pseudo-random numbers from 0 to just below 1, determined by the seed. */
function numbersFrom(first: number): () => number {
  let state = first >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
