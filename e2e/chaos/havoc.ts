import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from '@baton/kernel/database/sql';
import { pickAny } from './api-client.ts';
import { takeNumber, terminateBackends } from './journal-table.sql.ts';
import { type World, whenPossible } from './world.ts';

/** The acts, in the order of the report's figures. */
export const acts = {
  'backends ended': async ({ pool }: World) => {
    const ended = await whenPossible(() => pool.rows(terminateBackends(1 + Math.floor(upTo(6)))));
    return ended.length;
  },
  'database restarted fast': (world: World) => once(world.restartDatabase('fast')),
  'database restarted immediate': (world: World) => once(world.restartDatabase('immediate')),
  'API processes killed': ({ apis }: World) => once(pickAny(apis).killAndRestart(upTo(1000))),
  'API processes frozen': ({ apis }: World) => once(pickAny(apis).freeze(500 + upTo(2000))),
  'workers killed': ({ worker }: World) => once(worker.killAndRestart(upTo(1000))),
  'context adapters killed': ({ adapter }: World) => once(adapter.killAndRestart(upTo(1000))),
  'idle transactions': (world: World) => once(holdBack(world, 1000 + upTo(2000))),
};
export type ActName = keyof typeof acts;

/** The first act of each kind, the most disruptive first, because a run may be short and the machine slow. */
const first: readonly ActName[] = [
  'idle transactions',
  'database restarted immediate',
  'API processes killed',
  'backends ended',
  'workers killed',
  'API processes frozen',
  'context adapters killed',
  'database restarted fast',
];
/** The later acts are drawn from these. Restarts of the database are rarer, because they interrupt everything. */
const deck: readonly ActName[] = [
  ...first,
  ...first.filter((name) => !name.startsWith('database')),
  'backends ended',
];

const upTo = (ms: number) => Math.random() * ms;

async function once(work: Promise<unknown>): Promise<number> {
  await work;
  return 1;
}

/** An idle transaction with an id: no reader sees later commits. */
async function holdBack({ writersPool }: World, ms: number): Promise<void> {
  await writersPool
    .transaction(async (tx) => {
      await tx.row(takeNumber);
      await tx.row(sql<{ one: number }>`select 1 as one`);
      await sleep(ms);
    })
    .catch(() => undefined);
}

/**
 * Performs one act after another: first one of each kind, then in random order.
 * @param everyMs the average time between the starts of two acts
 * @returns the number of times that each act was performed
 */
export async function wreakHavoc(
  world: World,
  { untilMs, everyMs, kinds }: { untilMs: number; everyMs: number; kinds: readonly ActName[] },
): Promise<Map<ActName, number>> {
  const done = new Map<ActName, number>(kinds.map((name) => [name, 0]));
  let drawn = first.filter((name) => kinds.includes(name)).reverse();
  const underWay = new Set<Promise<void>>();
  while (performance.now() < untilMs) {
    if (drawn.length === 0) drawn = shuffled(deck.filter((name) => kinds.includes(name)));
    const name = drawn.pop();
    if (name === undefined) break;
    const act = acts[name](world).then((count) => {
      done.set(name, (done.get(name) ?? 0) + count);
      underWay.delete(act);
    });
    underWay.add(act);
    // A restart of the database, or of one process, ends before the next act; stalls overlap with the next acts.
    if (name === 'idle transactions' || name === 'API processes frozen') await sleep(upTo(everyMs));
    else await act;
    await sleep(everyMs / 2 + upTo(everyMs));
  }
  await Promise.all(underWay);
  return done;
}

function shuffled<T>(items: readonly T[]): T[] {
  return items
    .map((item) => ({ item, at: Math.random() }))
    .sort((left, right) => left.at - right.at)
    .map(({ item }) => item);
}
