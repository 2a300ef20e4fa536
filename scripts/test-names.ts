// node bin/run.mjs scripts/test-names.ts BEFORE AFTER ...: compares tests by name, and lists the missing, added and
// moved ones. Each argument is a folder that `--records=FOLDER` wrote, or its tests.jsonl.
import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { readTests } from './test-records.ts';
import type { TestRecord } from './test-run.ts';

type Named = Pick<TestRecord, 'file' | 'name'>;

export interface NameDifference {
  readonly before: number;
  readonly after: number;
  readonly missing: readonly Named[];
  readonly added: readonly Named[];
  readonly moved: readonly { readonly name: string; readonly from: string; readonly to: string }[];
}

/**
 * Compares two sets of tests by name. A test that ran several times, or at both depths, counts once.
 * @param before the earlier tests; @param after the current tests of all runs
 */
export function compareNames(before: readonly Named[], after: readonly Named[]): NameDifference {
  const [old, now] = [distinct(before), distinct(after)];
  const [unmatched, fresh] = [minus(old, now), minus(now, old)];
  const targets = Map.groupBy(fresh, ({ name }) => name);
  const moved: { name: string; from: string; to: string }[] = [];
  const missing: Named[] = [];
  for (const one of unmatched) {
    const target = targets.get(one.name)?.shift();
    if (target === undefined) missing.push(one);
    else moved.push({ name: one.name, from: one.file, to: target.file });
  }
  return { before: old.size, after: now.size, missing, added: [...targets.values()].flat(), moved };
}

/** Matches the ids in names of tests: each run generates different ones. */
const ids = /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/g;

function distinct(tests: readonly Named[]): Map<string, Named> {
  return new Map(
    tests.map(({ file, name: given }) => {
      const name = given.replaceAll(ids, '…');
      return [`${file}\n${name}`, { file, name }];
    }),
  );
}

function minus(some: ReadonlyMap<string, Named>, others: ReadonlyMap<string, Named>): Named[] {
  return [...some].filter(([key]) => !others.has(key)).map(([, one]) => one);
}

function read(path: string): TestRecord[] {
  return readTests(statSync(path).isDirectory() ? path : dirname(path));
}

function print({ before, after, missing, added, moved }: NameDifference): void {
  console.log(
    `${before} tests before, ${after} after: ${missing.length} missing, ${added.length} added, ${moved.length} moved`,
  );
  for (const { file, name } of missing) console.log(`missing: ${file}: ${name}`);
  for (const [route, some] of Map.groupBy(moved, ({ from, to }) => `${from} -> ${to}`))
    console.log(`moved: ${route}: ${some.length}`);
  for (const [file, some] of Map.groupBy(added, ({ file: of }) => of))
    console.log(`added: ${file}: ${some.length}`);
}

if (import.meta.filename === process.argv[1]) {
  const [before, ...after] = process.argv.slice(2);
  if (before === undefined || after.length === 0) {
    console.error('Usage: node bin/run.mjs scripts/test-names.ts BEFORE AFTER ...');
    process.exitCode = 2;
  } else print(compareNames(read(before), after.flatMap(read)));
}
