import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { StartError } from '@baton/platform/start-error';
import type { Depth, Shard } from './test-order.ts';
import type { TestRecord, TestTotals } from './test-run.ts';

const runFile = 'run.json';
const testsFile = 'tests.jsonl';

/** The record of a run, for a merge with other shards. `npm run proof -- --records=FOLDER` stores it. */
export interface RunRecord {
  readonly depth: Depth;
  readonly shard: Shard;
  readonly commit: string;
  /** Whether every file of the shard completed without a failure. */
  readonly isComplete: boolean;
  readonly passed: number;
  readonly failed: number;
  readonly skipped: readonly string[];
  /** Duration of each file. */
  readonly seconds: Readonly<Record<string, number>>;
}

/** Folders to which a run writes the services' behaviour (truth), and the services' logs and stored data (leaks). */
export interface RecordFolders {
  readonly truthDirectory: string;
  readonly leakDirectory: string;
}

/** Creates empty folders for a run's records. */
export function makeFolders(directory: string): RecordFolders {
  const folders = foldersOf(directory);
  // The files of an earlier run must not remain: if this run is killed, they could be mistaken for its own.
  for (const file of [runFile, testsFile]) rmSync(join(directory, file), { force: true });
  for (const folder of Object.values(folders)) {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  }
  return folders;
}

export const foldersOf = (directory: string): RecordFolders => ({
  truthDirectory: join(directory, 'truth'),
  leakDirectory: join(directory, 'leaks'),
});

/** Stores the results of the run and of each test. */
export function writeRun(
  directory: string,
  run: Pick<RunRecord, 'depth' | 'shard' | 'commit' | 'isComplete'>,
  { passed, failed, skipped, seconds, tests }: TestTotals,
): void {
  const record: RunRecord = { ...run, passed, failed, skipped, seconds: Object.fromEntries(seconds) };
  writeFileSync(join(directory, runFile), `${JSON.stringify(record, undefined, 2)}\n`);
  writeFileSync(join(directory, testsFile), tests.map((test) => `${JSON.stringify(test)}\n`).join(''));
}

/** @throws StartError if the folder contains no records */
export function readRun(directory: string): RunRecord {
  return JSON.parse(read(directory, runFile));
}

/** @throws StartError if the folder contains no records */
export function readTests(directory: string): TestRecord[] {
  const lines = read(directory, testsFile).split('\n');
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line));
}

function read(directory: string, file: string): string {
  try {
    return readFileSync(join(directory, file), 'utf8');
  } catch {
    throw new StartError(`${directory} holds no ${file}: name a folder that --records=FOLDER wrote.`);
  }
}

/**
 * Checks that the records belong to one long proof: each of its shards exactly once, all of the same commit.
 * @returns one line per problem
 */
export function shardProblems(runs: readonly RunRecord[], files: readonly string[]): string[] {
  const [first] = runs;
  if (first === undefined) return ['there are no records'];
  const { total } = first.shard;
  const problems: string[] = [];
  if (runs.some(({ depth }) => depth !== 'long')) problems.push('not all are of the long proof');
  if (runs.some(({ commit }) => commit !== first.commit)) problems.push('they are of different commits');
  if (runs.some(({ shard }) => shard.total !== total))
    problems.push('they are of different numbers of shards');
  for (let index = 1; index <= total; index += 1) {
    const count = runs.filter(({ shard }) => shard.index === index).length;
    if (count !== 1)
      problems.push(`shard ${index}/${total} is there ${count === 0 ? 'not at all' : 'twice'}`);
  }
  const ran = new Set(runs.flatMap(({ seconds }) => Object.keys(seconds)));
  const missing = files.filter((file) => !ran.has(file));
  if (missing.length > 0)
    problems.push(`${missing.length} files ran in no shard, the first is ${missing[0]}`);
  return problems;
}
