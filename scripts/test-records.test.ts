import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { makeFolders, type RunRecord, readRun, readTests, shardProblems, writeRun } from './test-records.ts';

const folder = mkdtempSync(join(tmpdir(), 'baton-records-'));
after(() => rmSync(folder, { recursive: true }));

const runOf = (index: number, total: number, differing: Partial<RunRecord> = {}): RunRecord => ({
  depth: 'long',
  shard: { index, total },
  commit: 'c0ffee',
  isComplete: true,
  passed: 1,
  failed: 0,
  skipped: [],
  seconds: {},
  ...differing,
});

test('the records of a run are read as they were written', () => {
  makeFolders(folder);
  const { depth, shard, commit, isComplete, ...counts } = runOf(1, 2);
  const tests = [{ file: 'a.test.ts', name: 'x', result: 'passed', seconds: 0.1 }] as const;
  const totals = { ...counts, seconds: new Map([['a.test.ts', 1.5]]), failures: [], tests };
  writeRun(folder, { depth, shard, commit, isComplete }, totals);
  assert.deepEqual(readRun(folder), { ...runOf(1, 2), seconds: { 'a.test.ts': 1.5 } });
  assert.deepEqual(readTests(folder), tests);
  assert.throws(() => readRun(join(folder, 'nowhere')), /holds no run\.json/);
});

test('the folders of a new run contain nothing from the last one', () => {
  const { leakDirectory } = makeFolders(folder);
  writeFileSync(join(leakDirectory, 'a.log'), 'old');
  makeFolders(folder);
  assert.deepEqual(readdirSync(leakDirectory), []);
  assert.throws(() => readRun(folder), /holds no run\.json/);
});

test('shards are checked together if each exists once, from the same commit', () => {
  assert.deepEqual(shardProblems([runOf(2, 2), runOf(1, 2)], []), []);
  assert.deepEqual(shardProblems([], []), ['there are no records']);
  assert.match(shardProblems([runOf(1, 2)], []).join(), /shard 2\/2 is there not at all/);
  assert.match(shardProblems([runOf(1, 2), runOf(1, 2)], []).join(), /shard 1\/2 is there twice/);
  assert.match(
    shardProblems([runOf(1, 2), runOf(2, 2, { commit: 'other' })], []).join(),
    /different commits/,
  );
  assert.match(shardProblems([runOf(1, 1, { depth: 'usual' })], []).join(), /not all are of the long proof/);
  const one = runOf(1, 1, { seconds: { 'a.test.ts': 1 } });
  assert.deepEqual(shardProblems([one], ['a.test.ts']), []);
  assert.match(
    shardProblems([one], ['a.test.ts', 'b.test.ts']).join(),
    /1 files ran in no shard.*b\.test\.ts/,
  );
});
