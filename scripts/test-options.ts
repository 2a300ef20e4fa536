import { parseArgs } from 'node:util';
import { StartError } from '@baton/platform/start-error';
import { type Depth, parseShard, type Shard } from './test-order.ts';

export interface TestOptions {
  /** Parts of paths; empty for all files. With `isMerge`, folders of records. */
  readonly patterns: readonly string[];
  readonly depth: Depth;
  readonly shard: Shard;
  /** Seed of the random order of files; undefined for the usual order. */
  readonly seed: number | undefined;
  /** Whether to store the duration of each file in scripts/test-seconds.json. */
  readonly isRecorded: boolean;
  /** Folder for the records of the run; undefined to delete them at its end. */
  readonly records: string | undefined;
  /** Prefixes of endpoint paths, for example `/packages`; a whole run checks all endpoints. */
  readonly declared: readonly string[];
  /** Runs only the tests that changes since this commit can affect. */
  readonly changedSince: string | undefined;
  /** Checks the records of shards together and runs no test. */
  readonly isMerge: boolean;
}

const seedMax = 2 ** 32;

/** @throws StartError with one sentence if an option is invalid */
export function parseOptions(args: readonly string[]): TestOptions {
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      options: {
        long: { type: 'boolean', default: false },
        shard: { type: 'string', default: '1/1' },
        seed: { type: 'string' },
        record: { type: 'boolean', default: false },
        records: { type: 'string' },
        declared: { type: 'string', multiple: true, default: [] },
        changed: { type: 'boolean', default: false },
        since: { type: 'string' },
        merge: { type: 'boolean', default: false },
      },
      allowPositionals: true,
    });
    const isChanged = values.changed || values.since !== undefined;
    return {
      patterns: positionals,
      depth: values.long ? 'long' : 'usual',
      shard: parseShard(values.shard),
      seed: values.seed === undefined ? undefined : parseSeed(values.seed),
      isRecorded: values.record,
      records: values.records,
      declared: values.declared,
      changedSince: isChanged ? (values.since ?? 'main') : undefined,
      isMerge: values.merge,
    };
  } catch (error) {
    throw new StartError((error as Error).message);
  }
}

function parseSeed(text: string): number {
  const seed = Number(text);
  if (!/^\d+$/.test(text) || seed > seedMax)
    throw new Error(`--seed takes a number up to ${seedMax}, not ${text}.`);
  return seed;
}
