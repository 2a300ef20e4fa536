import { createHash } from 'node:crypto';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Depth of the tests: `usual` for `npm test`, `long` for the long proof. */
export type Depth = 'usual' | 'long';

/** Durations of the longer test files, by depth and path; `--record` writes them. */
const recordPath = join(import.meta.dirname, 'test-seconds.json');
const recordedSecondsMin = 3;
/**
 * Estimates the duration of a file that isn't recorded: the typical speed of both services' tests, on two cores in
 * 2026.
 */
const bytesPerSecond = 6000;

/**
 * Loading a service takes 1.3 s of processor time, as much as many of its test files need. Therefore files up to the
 * first limit share a process; the second limit bounds the total duration of such a process. When they shared
 * processes, forty of these files took 84 s of processor time in total; with one process per file, 138 s.
 */
const sharedSecondsMax = 20;
const groupSecondsMax = 60;
/** The line by which a file declares that it must not share a process, and why. */
const ownProcess = /^\/\/ Needs its own process: ./m;
/** Files of one surface share loaded modules; outside of the services they also share one running Baton. */
const surfaces =
  /^(?:packages\/(?:identity|coordination|kernel|sdk|cli|mcp)\/src|packages\/console\/web|e2e\/console)\//;

export interface Shard {
  /** From 1 to `total`. */
  readonly index: number;
  readonly total: number;
}

export interface Ordering {
  /** The share of the files to run; it is the same on every machine. */
  readonly shard: Shard;
  readonly depth: Depth;
  /** Seed of a random order of the files. */
  readonly seed?: number | undefined;
}

/**
 * Groups test files; each group runs in one process. Long files run alone, short files of one surface together.
 * The longest groups start first, because otherwise a long one could keep a single core busy at the end.
 * @param files paths inside `root`
 */
export function groupFiles(
  root: string,
  files: readonly string[],
  { shard, depth, seed }: Ordering,
): string[][] {
  const recorded = readRecord()[depth];
  const weighed = files.map((file) => {
    const seconds = recorded[file] ?? statSync(join(root, file)).size / bytesPerSecond;
    return { files: [file], seconds, isShared: seconds <= sharedSecondsMax && mayShare(root, file, depth) };
  });
  const sortKey = randomKeys(seed);
  const groups = [...weighed.filter(({ isShared }) => !isShared), ...shareProcesses(weighed, sortKey)].sort(
    (a, b) => b.seconds - a.seconds || ((a.files[0] as string) < (b.files[0] as string) ? -1 : 1),
  );
  const shards = Array.from({ length: shard.total }, () => ({ seconds: 0, groups: [] as string[][] }));
  for (const group of groups) {
    const lightest = shards.reduce((least, one) => (one.seconds < least.seconds ? one : least));
    lightest.groups.push(group.files);
    lightest.seconds += group.seconds;
  }
  const own = shards[shard.index - 1]?.groups ?? [];
  return seed === undefined ? own : own.sort((a, b) => (sortKey(a[0] ?? '') < sortKey(b[0] ?? '') ? -1 : 1));
}

/** Returns whether a file compares times in the long proof, which then runs few other files in parallel. */
export const measuresTime = (file: string): boolean =>
  /\/(?:liveness|scroll|fairness|speed)(?:\.long)?\.test\.\w+$/.test(file);

interface Weighed {
  readonly files: string[];
  readonly seconds: number;
  readonly isShared: boolean;
}

/** Returns the sort key of a file: its path, or with a seed a reproducible hash of it. */
function randomKeys(seed: number | undefined): (file: string) => string {
  if (seed === undefined) return (file) => file;
  return (file) => createHash('sha256').update(`${seed} ${file}`).digest('hex');
}

/** Files that follow each other in this order share a process, because they load the same modules. */
function shareProcesses(weighed: readonly Weighed[], sortKey: (file: string) => string): Weighed[] {
  const groups: Weighed[] = [];
  const shared = weighed.filter(({ isShared }) => isShared);
  const keyOf = ({ files: [file = ''] }: Weighed) => `${surfaceOf(file)} ${sortKey(file)}`;
  for (const { files, seconds } of shared.sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))) {
    const last = groups.at(-1);
    const isFull = last === undefined || last.seconds + seconds > groupSecondsMax;
    if (isFull || surfaceOf(last.files[0]) !== surfaceOf(files[0]))
      groups.push({ files: [...files], seconds, isShared: true });
    else
      groups[groups.length - 1] = {
        files: [...last.files, ...files],
        seconds: last.seconds + seconds,
        isShared: true,
      };
  }
  return groups;
}

function mayShare(root: string, file: string, depth: Depth): boolean {
  return (
    surfaceOf(file) !== undefined &&
    !(depth === 'long' && measuresTime(file)) &&
    !ownProcess.test(readFileSync(join(root, file), 'utf8'))
  );
}

const surfaceOf = (file = '') => surfaces.exec(file)?.[0];

/**
 * Reads `1/2` as the first of two shards.
 * @throws Error with one sentence
 */
export function parseShard(text: string): Shard {
  const [, index = 0, total = 0] = (/^(\d+)\/(\d+)$/.exec(text) ?? []).map(Number);
  if (index < 1 || index > total) throw new Error(`A shard is written like 1/2 or 2/2, not ${text}.`);
  return { index, total };
}

/** Stores the durations of all files at one depth, for the order of the next run. */
export function writeRecord(depth: Depth, seconds: ReadonlyMap<string, number>): void {
  const kept = [...seconds].filter(([, taken]) => taken >= recordedSecondsMin).sort(([, a], [, b]) => b - a);
  const record = {
    ...readRecord(),
    [depth]: Object.fromEntries(kept.map(([file, taken]) => [file, Math.round(taken)])),
  };
  writeFileSync(recordPath, `${JSON.stringify(record, undefined, 2)}\n`);
}

function readRecord(): Record<Depth, Record<string, number>> {
  return JSON.parse(readFileSync(recordPath, 'utf8'));
}
