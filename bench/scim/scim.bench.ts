import { BenchError } from '../bench-error.ts';
import { readRounds } from '../rounds.ts';
import { openStore } from '../store.ts';
import { largeUsers, makeScimFixture, smallUsers } from './fixture.ts';
import { makeRequestPairs, type RequestPair, type SendRequest } from './request-pairs.ts';

/** For each request of a pair. All pairs and the filling together take less than two minutes. */
const measuredSecondsMax = 2;
/** The aim: the large request takes at most so many times the small one's time. */
const ratioMax = 3;

interface Line {
  readonly name: string;
  readonly smallP50Ms: number;
  readonly largeP50Ms: number;
  readonly largeP99Ms: number;
  readonly ratio: number;
  readonly readsAll: boolean;
}

/**
 * How long SCIM requests take with many users and large groups compared with few users and small groups, over HTTP, one
 * at a time. Rounds alternate, so that changing load on the machine affects both equally.
 */
export async function benchScim(args: string[], stopping: AbortSignal): Promise<void> {
  const { rounds, roundMs, postgres, profileDirectory, isJson } = readRounds(args, 0.15, measuredSecondsMax);
  // Stops what was started, in reverse order, also when one of them fails to start.
  await using cleanup = new AsyncDisposableStack();
  const store = cleanup.adopt(await openStore(postgres), (opened) => opened.close());
  const fixture = await makeScimFixture(store.url, profileDirectory);
  cleanup.defer(() => fixture.service.stop());
  const { pairs, close } = await makeRequestPairs(fixture);
  cleanup.defer(close);
  const lines: Line[] = [];
  for (const pair of pairs) lines.push(await measure(pair, rounds, roundMs, stopping));
  if (isJson) console.log(JSON.stringify({ store: store.version, smallUsers, largeUsers, lines }));
  else printTable(store.version, lines);
}

async function measure(
  pair: RequestPair,
  rounds: number,
  roundMs: number,
  stopping: AbortSignal,
): Promise<Line> {
  const [small, large]: [number[], number[]] = [[], []];
  // The first round is not counted: it warms up code, statements and caches.
  for (let round = 0; round <= rounds; round += 1) {
    const ofSmall = await runRound(pair.small, roundMs, stopping);
    const ofLarge = await runRound(pair.large, roundMs, stopping);
    if (round === 0) continue;
    small.push(...ofSmall);
    large.push(...ofLarge);
  }
  const [smallP50Ms, largeP50Ms] = [quantile(small, 0.5), quantile(large, 0.5)];
  return {
    name: pair.name,
    smallP50Ms,
    largeP50Ms,
    largeP99Ms: quantile(large, 0.99),
    ratio: Math.round((largeP50Ms / smallP50Ms) * 100) / 100,
    readsAll: pair.readsAll,
  };
}

async function runRound(send: SendRequest, ms: number, stopping: AbortSignal): Promise<number[]> {
  const latenciesMs: number[] = [];
  const startedMs = performance.now();
  for (let beganMs = startedMs; beganMs < startedMs + ms; ) {
    if (stopping.aborted) throw new BenchError('Stopped.');
    await send();
    const nowMs = performance.now();
    latenciesMs.push(nowMs - beganMs);
    beganMs = nowMs;
  }
  return latenciesMs;
}

function quantile(latenciesMs: readonly number[], share: number): number {
  const sorted = latenciesMs.toSorted((left, right) => left - right);
  return Math.round((sorted[Math.ceil(share * sorted.length) - 1] ?? 0) * 100) / 100;
}

function printTable(store: string, lines: readonly Line[]): void {
  console.log(`${store}; ${smallUsers} and ${largeUsers} users, one request at a time\n`);
  console.log(
    `${'what'.padEnd(52)}   few p50 ms   many p50 ms   many p99 ms   ratio (at most ${ratioMax.toFixed(1)})`,
  );
  for (const line of lines)
    console.log(
      [
        line.name.padEnd(52),
        line.smallP50Ms.toFixed(2).padStart(12),
        line.largeP50Ms.toFixed(2).padStart(13),
        line.largeP99Ms.toFixed(2).padStart(13),
        line.ratio.toFixed(2).padStart(7),
        line.readsAll ? '  must read all users' : line.ratio > ratioMax ? '  above' : '',
      ].join(' '),
    );
}
