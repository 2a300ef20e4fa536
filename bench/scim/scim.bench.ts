import { measurePair, type PairFigures } from '../pair.ts';
import { readRounds } from '../rounds.ts';
import { openStore } from '../store.ts';
import { largeUsers, makeScimFixture, smallUsers } from './fixture.ts';
import { makeRequestPairs, type RequestPair } from './request-pairs.ts';

/** Per request of a pair. All pairs and the filling together take less than two minutes. */
const measuredSecondsMax = 2;
/** The target: the maximum ratio of the large request's time to the small one's. */
const ratioMax = 3;

type Line = PairFigures & Pick<RequestPair, 'name' | 'readsAll'>;

/**
 * Measures the duration of SCIM requests with many users and large groups compared with few users and small groups,
 * over HTTP, one at a time. Rounds alternate, so that changing load on the machine affects both equally.
 */
export async function benchScim(args: string[], stopping: AbortSignal): Promise<void> {
  const { rounds, roundMs, postgres, profileDirectory, isJson } = readRounds(args, 0.15, measuredSecondsMax);
  // Stops what was started, in reverse order, even if one of them fails to start.
  await using cleanup = new AsyncDisposableStack();
  const store = cleanup.adopt(await openStore(postgres), (opened) => opened.close());
  const fixture = await makeScimFixture(store.url, profileDirectory);
  cleanup.defer(() => fixture.service.stop());
  const { pairs, close } = await makeRequestPairs(fixture);
  cleanup.defer(close);
  const lines: Line[] = [];
  for (const { name, readsAll, small, large } of pairs)
    lines.push({ name, readsAll, ...(await measurePair(small, large, { rounds, roundMs, stopping })) });
  if (isJson) console.log(JSON.stringify({ store: store.version, smallUsers, largeUsers, lines }));
  else printTable(store.version, lines);
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
