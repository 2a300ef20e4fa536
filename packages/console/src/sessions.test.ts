import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Sessions, sessionBounds } from './sessions.ts';

const { idleMsMax, lastsMsMax, sessionsMax, sessionsOfOneMax, codeMsMax, codesMax, codesOfOneMax } =
  sessionBounds;

test('a code signs in once, and within a minute', () => {
  let nowMs = 0;
  const sessions = new Sessions(() => nowMs);
  const code = sessions.newCode({ token: 'a' }, 'somebody');
  assert.deepEqual(sessions.takeCode(code), { token: 'a' });
  assert.equal(sessions.takeCode(code), undefined);
  const late = sessions.newCode({ token: 'a' }, 'somebody');
  nowMs += codeMsMax;
  assert.equal(sessions.takeCode(late), undefined);
  assert.equal(sessions.takeCode('unknown'), undefined);
});

test('of more codes than the bound the oldest is gone', () => {
  const sessions = new Sessions(() => 0);
  const codes = Array.from({ length: codesMax + 1 }, (_, n) =>
    sessions.newCode({ token: String(n) }, `person ${n}`),
  );
  assert.equal(sessions.takeCode(codes[0] as string), undefined);
  assert.deepEqual(sessions.takeCode(codes[1] as string), { token: '1' });
});

test('a session ends when it is closed, was idle for too long, or has lasted its time', () => {
  let nowMs = 0;
  const sessions = new Sessions(() => nowMs);
  const closed = sessions.open({ token: 'a' }, 'somebody');
  sessions.close(closed);
  assert.equal(sessions.use(closed), undefined);
  const idle = sessions.open({ token: 'a' }, 'somebody');
  nowMs += idleMsMax + 1;
  assert.equal(sessions.use(idle), undefined);
  const used = sessions.open({ token: 'a' }, 'somebody');
  const endsAtMs = nowMs + lastsMsMax;
  for (; nowMs < endsAtMs; nowMs += idleMsMax) assert.equal(sessions.use(used)?.token, 'a');
  assert.equal(sessions.use(used), undefined);
});

test('of more sessions than the bound the one that was unused for longest is gone', () => {
  const sessions = new Sessions(() => 0);
  const [first, second] = Array.from({ length: sessionsMax }, (_, n) =>
    sessions.open({ token: 'a' }, `person ${n}`),
  ) as [string, string];
  assert.ok(sessions.use(first));
  sessions.open({ token: 'b' }, 'somebody');
  assert.ok(sessions.use(first));
  assert.equal(sessions.use(second), undefined);
});

test('whoever signs in again and again ends only sessions and codes of their own', () => {
  const sessions = new Sessions(() => 0);
  const ada = sessions.open({ token: 'a' }, 'ada');
  const code = sessions.newCode({ token: 'a' }, 'ada');
  const open = () => sessions.open({ token: 'b' }, 'grace');
  const [first, second] = Array.from({ length: sessionsOfOneMax }, open) as [string, string];
  assert.ok(sessions.use(first));
  open();
  assert.deepEqual([sessions.use(second), sessions.use(first)?.token], [undefined, 'b']);
  for (let n = 0; n < sessionsMax; n += 1) open();
  assert.equal(sessions.use(first), undefined);
  const codes = Array.from({ length: codesMax }, () => sessions.newCode({ token: 'b' }, 'grace'));
  assert.equal(codes.filter((one) => sessions.takeCode(one)).length, codesOfOneMax);
  assert.ok(sessions.use(ada));
  assert.deepEqual(sessions.takeCode(code), { token: 'a' });
});

test('a person ends all their sessions at once, and nobody else is signed out', () => {
  const sessions = new Sessions(() => 0);
  const [own, other] = [sessions.open({ token: 'a' }, 'ada'), sessions.open({ token: 'b' }, 'ada')];
  const stranger = sessions.open({ token: 'c' }, 'grace');
  sessions.closeAllOf('unknown');
  assert.ok(sessions.use(other));
  sessions.closeAllOf(own);
  assert.deepEqual([sessions.use(own), sessions.use(other)], [undefined, undefined]);
  assert.ok(sessions.use(stranger));
});
