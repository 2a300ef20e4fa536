import assert from 'node:assert/strict';
import { test } from 'node:test';
import { processorMsOf } from '@baton/kernel/testing/process/processor-time';
import { canonicalHash } from './canonical.ts';
import { unsafeIn, unsafeInText } from './durable-text.ts';

test('finds local paths in prose, but ignores addresses and relative paths', () => {
  const local = [
    '/home/ada/x',
    'see (/Users/ada)',
    'HOME=/home/ada',
    '"/tmp"',
    'file:///var/log/x',
    'in C:\\work',
    'D:/work',
    'a\n/opt/x',
    '/Volumes/disk,',
    '/private/etc',
  ];
  for (const text of local) assert.deepEqual(unsafeIn(text), { kind: 'local_path', path: '' }, text);
  const harmless = [
    'https://example.org/home/x',
    'https://home/x',
    '../tmp/x',
    'src/var/x.ts',
    '/variables',
    '/usr/bin',
    'and/or/var',
    '~/tmp',
    'http://x',
    '12:/ 3',
    's3://bucket/tmp/x',
  ];
  for (const text of harmless) assert.equal(unsafeIn(text), undefined, text);
});

test("finds keys of a model's inner workings, in any spelling and at any depth", () => {
  for (const key of [
    'transcript',
    'chat_history',
    'rawPrompt',
    'chain-of-thought',
    'REASONING',
    'credentials',
  ])
    assert.deepEqual(unsafeIn({ a: [{ [key]: 1 }] }), { kind: 'private_key', path: `/a/0/${key}` });
  assert.deepEqual(unsafeIn({ '/home/ada': 1 })?.kind, 'local_path');
  assert.equal(unsafeIn({ script: 'a', reason: 'b', prompt: 'c' }), undefined);
  assert.deepEqual(unsafeInText('{"steps":[{"transcript":1}]}')?.path, '/steps/0/transcript');
  assert.equal(unsafeInText('the transcript is long'), undefined);
  assert.equal(unsafeInText('{"transcript'), undefined);
});

test('64 KiB of hostile text is searched in less than 150 ms', () => {
  for (const unit of ['/', 'C:', '/home', 'file://', '{"a":']) {
    const tookMs = processorMsOf(() => unsafeInText(unit.repeat(65_536 / unit.length)));
    assert.ok(tookMs < 150, `${unit} took ${tookMs} ms`);
  }
});

test('a document has one hash, regardless of the order of its keys and its Unicode normalization', () => {
  const [composed, decomposed] = ['\u00e9', 'e\u0301'];
  const hash = canonicalHash({ a: composed, [`f${decomposed}`]: 1, b: [1, null] });
  assert.equal(canonicalHash({ b: [1, null], [`f${composed}`]: 1, a: decomposed }), hash);
  assert.match(hash, /^sha256:[0-9a-f]{64}$/);
  assert.notEqual(canonicalHash({ b: [null, 1] }), canonicalHash({ b: [1, null] }));
});
