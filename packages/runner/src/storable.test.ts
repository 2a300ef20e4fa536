import assert from 'node:assert/strict';
import { test } from 'node:test';
import { faultOfDocument, parseStorable, UnstorableError } from './storable.ts';

test('characters that PostgreSQL cannot store are replaced, in keys too', () => {
  const cases = [
    ['{"a":"x\\u0000y"}', { a: 'x\uFFFDy' }],
    ['{"a\\u0000":[{"b":"\\ud800"}]}', { 'a\uFFFD': [{ b: '\uFFFD' }] }],
    ['{"a":"\0"}', { a: '\uFFFD' }],
    ['{"__proto__\\u0000":1,"b":2}', { '__proto__\uFFFD': 1, b: 2 }],
  ] as const;
  for (const [json, value] of cases) {
    const read = parseStorable(json);
    assert.deepEqual(read.value, value, json);
    assert.deepEqual(read.changes, ['characters that cannot be stored were replaced by U+FFFD']);
  }
});

test('numbers that a double cannot hold are kept as they were written, as texts', () => {
  for (const number of ['9007199254740993', '-12345678901234567890', '1e23', '1e400', '-1e999'])
    assert.deepEqual(parseStorable(`{"n":[${number}]}`), {
      value: { n: [number] },
      changes: ['numbers that would have been rounded are stored as text'],
    });
  const kept = '{"a":9007199254740991,"b":0.1234567890123456789,"c":-1.5e-300,"d":"\u{1F600}","e":null}';
  assert.deepEqual(parseStorable(kept), { value: JSON.parse(kept), changes: [] });
});

test('a document that is too deep, too large or has too many values is named, and no depth breaks the reader', () => {
  const nested = (levels: number) => `${'{"a":'.repeat(levels - 1)}{}${'}'.repeat(levels - 1)}`;
  assert.equal(faultOfDocument(JSON.parse(nested(20))), undefined);
  assert.match(faultOfDocument(JSON.parse(nested(21))) ?? '', /more than 20 levels/);
  assert.throws(() => parseStorable('['.repeat(100_000) + ']'.repeat(100_000)), UnstorableError);
  assert.throws(() => parseStorable('{"a":'), SyntaxError);
  assert.match(faultOfDocument({ a: 'é'.repeat(40_000) }) ?? '', /it has 80008 bytes, more than 65536/);
  assert.match(faultOfDocument({ a: Array(5_000).fill(1) }) ?? '', /it holds 5002 values/);
});
