import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Seconds of the longer test files, by path; `npm test -- --record` writes it. */
const recordPath = join(import.meta.dirname, 'test-seconds.json');
const recordedSecondsMin = 3;
/** For a file that isn't recorded: what the tests of both services took on two cores in 2026. */
const bytesPerSecond = 3000;

export interface Shard {
  /** From 1 to `total`. */
  readonly index: number;
  readonly total: number;
}

/**
 * Puts the test files that take longest first: one that starts last would keep a single core busy at the end.
 * @param files paths inside `root`; @param shard which share of them to run, the same on every machine
 */
export function orderFiles(root: string, files: readonly string[], shard: Shard): string[] {
  const recorded = readRecord();
  const weighed = files
    .map((file) => ({ file, seconds: recorded[file] ?? statSync(join(root, file)).size / bytesPerSecond }))
    .sort((a, b) => b.seconds - a.seconds || (a.file < b.file ? -1 : 1));
  const shards = Array.from({ length: shard.total }, () => ({ seconds: 0, files: [] as string[] }));
  for (const { file, seconds } of weighed) {
    const lightest = shards.reduce((least, one) => (one.seconds < least.seconds ? one : least));
    lightest.files.push(file);
    lightest.seconds += seconds;
  }
  return shards[shard.index - 1]?.files ?? [];
}

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
