import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pickFiles } from './test-files.ts';
import { parseOptions } from './test-options.ts';

const files = ['a/race.test.ts', 'a/size.long.test.ts', 'b/only.long.test.ts'];

test('npm test skips files that only the long proof runs, unless they are given', () => {
  assert.deepEqual(pickFiles(files, [], 'usual'), ['a/race.test.ts']);
  assert.deepEqual(pickFiles(files, [], 'long'), files);
  assert.deepEqual(pickFiles(files, ['a/'], 'usual'), ['a/race.test.ts']);
  assert.deepEqual(pickFiles(files, ['b/'], 'usual'), ['b/only.long.test.ts']);
  assert.deepEqual(pickFiles(files, ['a/', 'nothing'], 'long'), files.slice(0, 2));
});

test('a misspelt option is rejected with one sentence', () => {
  assert.equal(parseOptions([]).depth, 'usual');
  assert.equal(parseOptions(['--changed']).changedSince, 'main');
  assert.equal(parseOptions(['--since=HEAD~1']).changedSince, 'HEAD~1');
  assert.equal(parseOptions(['--seed=7']).seed, 7);
  for (const wrong of [['--seed=x'], ['--seed=99999999999'], ['--shard=3/2'], ['--longer']])
    assert.throws(() => parseOptions(wrong), { name: 'StartError' }, wrong[0]);
});
