import assert from 'node:assert/strict';
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { Attempt, type AttemptPurpose } from './attempt-keys.ts';
import { readConfig } from './config.ts';

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'baton-attempts-'));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const purpose: AttemptPurpose = {
  command: 'apply',
  server: 'http://127.0.0.1:8080',
  principalId: '0190b2c4-0000-4000-8000-000000000001',
  content: [['TaskType', 'bug', { displayName: 'Bug' }]],
};
const others: readonly Partial<AttemptPurpose>[] = [
  { command: 'import' },
  { server: 'http://127.0.0.1:8081' },
  { principalId: '0190b2c4-0000-4000-8000-000000000002' },
  { content: [['TaskType', 'bug', { displayName: 'Fault' }]] },
];
const attemptOf = (more: Partial<AttemptPurpose> = {}, HOME = home) =>
  new Attempt(readConfig({ HOME }), { ...purpose, ...more });
const folder = () => join(home, '.config', 'baton', 'attempts');
const records = () => readdirSync(folder()).map((name) => join(folder(), name));

/** Keeps an attempt in a folder that contains no other attempts. */
function keptBy(attempt: Attempt): { key: string; path: string } {
  assert.equal(attempt.keep(), true);
  const [path = '', ...rest] = records();
  assert.deepEqual(rest, []);
  return { key: attempt.keyOf('x'), path };
}

test('the keys of an attempt that was not kept are unique', () => {
  assert.match(attemptOf().keyOf('x'), /^[0-9a-f]{32}$/);
  assert.equal(new Set(Array.from({ length: 100 }, () => attemptOf().keyOf('x'))).size, 100);
});

test('an attempt that was kept has the same keys until it is discarded', () => {
  const first = attemptOf();
  assert.equal(first.keep(), true);
  const key = first.keyOf('TaskType', '0', { displayName: 'Bug' });
  const again = attemptOf();
  assert.equal(again.keyOf('TaskType', '0', { displayName: 'Bug' }), key);
  assert.equal(again.keep(), true);
  assert.equal(again.keyOf('TaskType', '0', { displayName: 'Bug' }), key);
  assert.notEqual(again.keyOf('TaskType', '1', { displayName: 'Bug' }), key);
  assert.notEqual(again.keyOf('TaskType', '0', { displayName: 'Fault' }), key);
  again.forget();
  assert.deepEqual(records(), []);
  assert.notEqual(attemptOf().keyOf('TaskType', '0', { displayName: 'Bug' }), key);
});

test('of two commands that begin at the same time, the second takes the keys of the first', () => {
  const [one, two] = [attemptOf(), attemptOf()];
  assert.notEqual(one.keyOf('x'), two.keyOf('x'));
  assert.deepEqual([one.keep(), two.keep()], [true, true]);
  assert.equal(one.keyOf('x'), two.keyOf('x'));
  // The first run has succeeded, and the same attempt was started again. When the second run ends, the new attempt
  // keeps its keys.
  one.forget();
  const next = attemptOf();
  next.keep();
  two.forget();
  assert.equal(attemptOf().keyOf('x'), next.keyOf('x'));
});

test('only the owner may read the keys', () => {
  attemptOf().keep();
  const [path = ''] = records();
  assert.equal(statSync(path).mode & 0o777, 0o600);
  assert.equal(statSync(folder()).mode & 0o777, 0o700);
  assert.equal(records().length, 1, 'no draft is left');
});

test('the keys of another command, server, person or content are not used, not even from their own file', () => {
  const { key, path } = keptBy(attemptOf());
  for (const other of others) {
    const attempt = attemptOf(other);
    assert.notEqual(attempt.keyOf('x'), key);
    attempt.keep();
    assert.notEqual(attempt.keyOf('x'), key);
    const own = records().find((one) => one !== path) as string;
    copyFileSync(path, own);
    assert.notEqual(attemptOf(other).keyOf('x'), key);
    rmSync(own);
  }
  assert.equal(attemptOf().keyOf('x'), key);
});

test('keys expire before the service forgets them', () => {
  const hourMs = 3_600_000;
  for (const [ageMs, isUsed] of [
    [11 * hourMs, true],
    [13 * hourMs, false],
    [-hourMs, false],
  ] as const) {
    const { key, path } = keptBy(attemptOf());
    const record = JSON.parse(readFileSync(path, 'utf8')) as object;
    const startedAt = new Date(Date.now() - ageMs).toISOString();
    writeFileSync(path, JSON.stringify({ ...record, startedAt }), { mode: 0o600 });
    assert.equal(attemptOf().keyOf('x') === key, isUsed, `${ageMs / hourMs} hours`);
    const next = attemptOf();
    assert.equal(next.keep(), true);
    assert.equal(next.keyOf('x') === key, isUsed);
    next.forget();
  }
});

test('a file that others could have made or read is replaced, and its keys are not used', () => {
  const elsewhere = join(home, 'elsewhere');
  for (const plant of [
    (path: string) => chmodSync(path, 0o644),
    (path: string) => {
      copyFileSync(path, elsewhere);
      rmSync(path);
      symlinkSync(elsewhere, path);
    },
    (path: string) => writeFileSync(path, '{"secret":'),
    (path: string) => writeFileSync(path, 'null'),
    (path: string) =>
      writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, 'utf8')), secret: 'a' })),
    (path: string) => writeFileSync(path, `${readFileSync(path, 'utf8')}${' '.repeat(10_000)}`),
  ]) {
    const { key, path } = keptBy(attemptOf());
    plant(path);
    const next = attemptOf();
    assert.notEqual(next.keyOf('x'), key);
    assert.equal(next.keep(), true);
    assert.notEqual(next.keyOf('x'), key);
    assert.equal(attemptOf().keyOf('x'), next.keyOf('x'));
    next.forget();
  }
});

test('at most 100 attempts are kept, for at most a day; the files of killed commands are removed, too', () => {
  mkdirSync(folder(), { recursive: true });
  const old = join(folder(), 'draft.tmp');
  writeFileSync(old, 'x');
  utimesSync(old, 0, 0);
  for (let n = 0; n < 130; n += 1) assert.equal(attemptOf({ content: [n] }).keep(), true);
  assert.equal(records().length, 100);
  assert.ok(!records().includes(old));
  const [key, again] = [attemptOf({ content: [129] }), attemptOf({ content: [129] })].map((one) =>
    one.keyOf('x'),
  );
  assert.equal(key, again, 'the newest is kept');
});

test('if nothing can be stored, the keys are random for one command', () => {
  const file = join(home, 'file');
  writeFileSync(file, '');
  const [one, two] = [attemptOf({}, file), attemptOf({}, file)];
  assert.deepEqual([one.keep(), two.keep()], [false, false]);
  assert.notEqual(one.keyOf('x'), two.keyOf('x'));
  one.forget();
});
