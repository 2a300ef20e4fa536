import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Seconds of the longer test files, by path; `npm test -- --record` writes it. */
const recordPath = join(import.meta.dirname, 'test-seconds.json');
const recordedSecondsMin = 3;
/** For a file that isn't recorded: what the tests of both services took on two cores in 2026. */
const bytesPerSecond = 6000;

/**
 * Loading a service takes 1.3 s of processor time, as much as many of its test files need: files of up to so many seconds
 * share a process, as many as take so long in all. Forty of them took 84 s of processor
 * time together, and 138 s with a process for each.
 */
const sharedSecondsMax = 20;
const groupSecondsMax = 60;
/** How a file says that it must not share a process, and why. */
const ownProcess = /^\/\/ Needs a process of its own: ./m;

export interface Shard {
  /** From 1 to `total`. */
  readonly index: number;
  readonly total: number;
}

/**
 * Puts test files into groups, each of which runs in one process: long files alone, short ones of the services together.
 * The groups that take longest come first: one that starts last would keep a single core busy at the end.
 * @param files paths inside `root`; @param shard which share of them to run, the same on every machine
 */
export function groupFiles(root: string, files: readonly string[], shard: Shard): string[][] {
  const recorded = readRecord();
  const weighed = files.map((file) => {
    const seconds = recorded[file] ?? statSync(join(root, file)).size / bytesPerSecond;
    return { files: [file], seconds, isShared: seconds <= sharedSecondsMax && mayShare(root, file) };
  });
  const groups = [...weighed.filter(({ isShared }) => !isShared), ...shareProcesses(weighed)].sort(
    (a, b) => b.seconds - a.seconds || ((a.files[0] as string) < (b.files[0] as string) ? -1 : 1),
  );
  const shards = Array.from({ length: shard.total }, () => ({ seconds: 0, groups: [] as string[][] }));
  for (const group of groups) {
    const lightest = shards.reduce((least, one) => (one.seconds < least.seconds ? one : least));
    lightest.groups.push(group.files);
    lightest.seconds += group.seconds;
  }
  return shards[shard.index - 1]?.groups ?? [];
}

/** Whether a file compares times, so that few others may run beside it. */
export const isMeasuring = (file: string): boolean =>
  /\/(?:liveness|scroll|fairness|speed)\.test\.\w+$/.test(file);

interface Weighed {
  readonly files: string[];
  readonly seconds: number;
  readonly isShared: boolean;
}

/** Neighbours share a process: they load the same modules. */
function shareProcesses(weighed: readonly Weighed[]): Weighed[] {
  const groups: Weighed[] = [];
  const shared = weighed.filter(({ isShared }) => isShared);
  for (const { files, seconds } of shared.sort(({ files: [a = ''] }, { files: [b = ''] }) =>
    a < b ? -1 : 1,
  )) {
    const last = groups.at(-1);
    const isFull = last === undefined || last.seconds + seconds > groupSecondsMax;
    if (isFull || serviceOf(last.files[0]) !== serviceOf(files[0]))
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

function mayShare(root: string, file: string): boolean {
  return (
    serviceOf(file) !== undefined &&
    !isMeasuring(file) &&
    !ownProcess.test(readFileSync(join(root, file), 'utf8'))
  );
}

const serviceOf = (file = '') => /^packages\/(identity|coordination)\/src\//.exec(file)?.[1];

/**
 * Reads `1/2` as the first of two shards.
 * @throws Error with one sentence
 */
export function parseShard(text: string): Shard {
  const [, index = 0, total = 0] = (/^(\d+)\/(\d+)$/.exec(text) ?? []).map(Number);
  if (index < 1 || index > total) throw new Error(`A shard is written like 1/2 or 2/2, not ${text}.`);
  return { index, total };
}

/** Keeps what a run of all files took, for the next run's order. */
export function writeRecord(seconds: ReadonlyMap<string, number>): void {
  const kept = [...seconds].filter(([, taken]) => taken >= recordedSecondsMin).sort(([, a], [, b]) => b - a);
  const record = Object.fromEntries(kept.map(([file, taken]) => [file, Math.round(taken)]));
  writeFileSync(recordPath, `${JSON.stringify(record, undefined, 2)}\n`);
}

function readRecord(): Record<string, number> {
  return JSON.parse(readFileSync(recordPath, 'utf8'));
}
