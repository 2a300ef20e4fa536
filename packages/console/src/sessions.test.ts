import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hashKey, Sessions, sessionBounds } from './sessions.ts';

const {
  idleMsMax,
  lastsMsMax,
  sessionsMax,
  sessionsOfOneMax,
  codeMsMax,
  codesMax,
  codesOfOneMax,
  testedMsMax,
} = sessionBounds;
const pageKey = 'page';
const pageKeyHash = hashKey(pageKey);

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

test('a code that is printed for the operator signs in as such, and the session has the age of the sign-in', () => {
  let nowMs = 5;
  const sessions = new Sessions(() => nowMs);
  const signedIn = sessions.takeCode(sessions.newCode({ token: 'a', isOperator: true }, 'somebody'));
  assert.deepEqual(signedIn, { token: 'a', isOperator: true });
  const key = sessions.open({ token: 'a', isOperator: true }, 'somebody', pageKeyHash);
  nowMs += 300_001;
  const used = sessions.use(key, pageKey);
  assert.ok(used?.token !== undefined);
  assert.deepEqual([used.isOperator, used.ageMs], [true, 300_001]);
});

test('the result of a test of a provider is taken once, within five minutes, by the session that began it', () => {
  let nowMs = 0;
  const sessions = new Sessions(() => nowMs);
  const key = sessions.open({ token: 'a' }, 'somebody', pageKeyHash);
  const other = sessions.open({ token: 'a' }, 'somebody', pageKeyHash);
  const result = { provider: 'corporate', idToken: 'x' };
  assert.equal(sessions.keepTested(key, result), true);
  assert.equal(sessions.takeTested(other), undefined);
  assert.deepEqual(sessions.takeTested(key), result);
  assert.equal(sessions.takeTested(key), undefined);
  sessions.keepTested(key, result);
  nowMs += testedMsMax;
  assert.equal(sessions.takeTested(key), undefined);
  sessions.close(key);
  assert.equal(sessions.keepTested(key, result), false);
});

test('beyond the limit, a new code replaces the oldest', () => {
  const sessions = new Sessions(() => 0);
  const codes = Array.from({ length: codesMax + 1 }, (_, n) =>
    sessions.newCode({ token: String(n) }, `person ${n}`),
  );
  assert.equal(sessions.takeCode(codes[0] as string), undefined);
  assert.deepEqual(sessions.takeCode(codes[1] as string), { token: '1' });
});

test('a session ends when it is closed, has been idle for too long, or reaches its maximum age', () => {
  let nowMs = 0;
  const sessions = new Sessions(() => nowMs);
  const closed = sessions.open({ token: 'a' }, 'somebody', pageKeyHash);
  sessions.close(closed);
  assert.equal(sessions.use(closed, pageKey), undefined);
  const idle = sessions.open({ token: 'a' }, 'somebody', pageKeyHash);
  nowMs += idleMsMax + 1;
  assert.equal(sessions.use(idle, pageKey), undefined);
  const used = sessions.open({ token: 'a' }, 'somebody', pageKeyHash);
  const endsAtMs = nowMs + lastsMsMax;
  for (; nowMs < endsAtMs; nowMs += idleMsMax) assert.equal(sessions.use(used, pageKey)?.token, 'a');
  assert.equal(sessions.use(used, pageKey), undefined);
});

test("a session opens only with the key of its page, and another key doesn't affect it", () => {
  const sessions = new Sessions(() => 0);
  const key = sessions.open({ token: 'a' }, 'somebody', pageKeyHash);
  for (const other of ['', 'another page', pageKeyHash]) assert.equal(sessions.use(key, other), undefined);
  assert.equal(sessions.use(key, pageKey)?.token, 'a');
});

test('beyond the limit, a new session replaces the least recently used', () => {
  const sessions = new Sessions(() => 0);
  const [first, second] = Array.from({ length: sessionsMax }, (_, n) =>
    sessions.open({ token: 'a' }, `person ${n}`, pageKeyHash),
  ) as [string, string];
  assert.ok(sessions.use(first, pageKey));
  sessions.open({ token: 'b' }, 'somebody', pageKeyHash);
  assert.ok(sessions.use(first, pageKey));
  assert.equal(sessions.use(second, pageKey), undefined);
});

test("repeated sign-ins replace only the person's own sessions and codes", () => {
  const sessions = new Sessions(() => 0);
  const ada = sessions.open({ token: 'a' }, 'ada', pageKeyHash);
  const code = sessions.newCode({ token: 'a' }, 'ada');
  const open = () => sessions.open({ token: 'b' }, 'grace', pageKeyHash);
  const [first, second] = Array.from({ length: sessionsOfOneMax }, open) as [string, string];
  assert.ok(sessions.use(first, pageKey));
  open();
  assert.deepEqual([sessions.use(second, pageKey), sessions.use(first, pageKey)?.token], [undefined, 'b']);
  for (let n = 0; n < sessionsMax; n += 1) open();
  assert.equal(sessions.use(first, pageKey), undefined);
  const codes = Array.from({ length: codesMax }, () => sessions.newCode({ token: 'b' }, 'grace'));
  assert.equal(codes.filter((one) => sessions.takeCode(one)).length, codesOfOneMax);
  assert.ok(sessions.use(ada, pageKey));
  assert.deepEqual(sessions.takeCode(code), { token: 'a' });
});

test('a person can end all their other sessions without signing out anybody else', () => {
  const sessions = new Sessions(() => 0);
  const [own, other] = [
    sessions.open({ token: 'a' }, 'ada', pageKeyHash),
    sessions.open({ token: 'b' }, 'ada', pageKeyHash),
  ];
  const stranger = sessions.open({ token: 'c' }, 'grace', pageKeyHash);
  sessions.closeOthersOf('unknown');
  assert.ok(sessions.use(other, pageKey));
  sessions.closeOthersOf(own);
  assert.deepEqual([sessions.use(own, pageKey)?.token, sessions.use(other, pageKey)], ['a', undefined]);
  assert.ok(sessions.use(stranger, pageKey));
});
