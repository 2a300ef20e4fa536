import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compareNames } from './test-names.ts';

const one = (file: string, name: string) => ({ file, name });

test('a test that is in no later run is missing, even if another one has its name', () => {
  const { missing, added, moved } = compareNames(
    [one('a', 'kept'), one('a', 'lost'), one('b', 'twice'), one('c', 'twice')],
    [one('a', 'kept'), one('b', 'twice'), one('d', 'new')],
  );
  assert.deepEqual(missing, [one('a', 'lost'), one('c', 'twice')]);
  assert.deepEqual(added, [one('d', 'new')]);
  assert.deepEqual(moved, []);
});

test('a test of the same name in a new file has moved, once for each file', () => {
  const { missing, added, moved } = compareNames(
    [one('a', 'x'), one('b', 'x')],
    [one('a.long', 'x'), one('b', 'x')],
  );
  assert.deepEqual([missing, added], [[], []]);
  assert.deepEqual(moved, [{ name: 'x', from: 'a', to: 'a.long' }]);
});

test('a test that runs at both depths counts once', () => {
  const { before, after } = compareNames([one('a', 'x')], [one('a', 'x'), one('a', 'x')]);
  assert.deepEqual([before, after], [1, 1]);
});

test('an id in a name may differ in each run', () => {
  const named = (id: string) => one('a', `listTasks {"ownerId":"${id}"}`);
  const { missing, added } = compareNames(
    [named('01a21ce1-0a8d-7000-9330-c99a32cab6d5')],
    [named('01a21ce1-0b17-7000-8e02-90e17b738950')],
  );
  assert.deepEqual([missing, added], [[], []]);
});
