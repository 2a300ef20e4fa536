import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Batch, joinFrames, partBytesMax } from './batch.ts';
import { KeptMessages } from './kept-messages.ts';
import { type StreamMessage, textFrame } from './message.ts';

const message = (sequence: number, bytes = 100, type = 'task.created'): StreamMessage => ({
  position: 7,
  sequence,
  type,
  frame: textFrame('x'.repeat(bytes)),
});
const sequencesOf = (messages: readonly { sequence: number }[]) => messages.map(({ sequence }) => sequence);

test('a frame has the length of its text in 7, 16 or 64 bits, in bytes and not in characters', () => {
  const headOf = (text: string) =>
    textFrame(text).subarray(0, textFrame(text).length - Buffer.byteLength(text));
  assert.deepEqual([...headOf('')], [0x81, 0]);
  assert.deepEqual([...headOf('x'.repeat(125))], [0x81, 125]);
  assert.deepEqual([...headOf('x'.repeat(126))], [0x81, 126, 0, 126]);
  assert.deepEqual([...headOf('x'.repeat(65_535))], [0x81, 126, 255, 255]);
  assert.deepEqual([...headOf('x'.repeat(65_536))], [0x81, 127, 0, 0, 0, 0, 0, 1, 0, 0]);
  assert.deepEqual([...headOf('é'.repeat(63))], [0x81, 126, 0, 126]);
  assert.equal(textFrame('é€').subarray(2).toString(), 'é€');
});

test('frames are joined up to 64 KiB, whole and in order, and a larger one stays separate', () => {
  const messages = [
    ...Array.from({ length: 1000 }, (_, n) => message(n + 1)),
    message(1001, 200_000),
    message(1002),
  ];
  const parts = joinFrames(messages);
  assert.deepEqual(
    Buffer.concat(parts.map(({ bytes }) => bytes)),
    Buffer.concat(messages.map(({ frame }) => frame)),
  );
  assert.deepEqual(parts.at(-1)?.last.sequence, 1002);
  assert.ok(parts.every(({ bytes }) => bytes.length <= partBytesMax || bytes === messages[1000]?.frame));
  assert.ok(parts.length < 6);
});

test('each filter gets its own events of a batch, even if there are more filters than cached copies', () => {
  const types = Array.from({ length: 40 }, (_, n) => `type${String(n).padStart(2, '0')}.x`);
  const messages = types.map((type, n) => message(n + 1, 100, type));
  const batch = new Batch(messages, { position: 8, sequence: 0 });
  for (const [n, type] of types.entries()) {
    const parts = batch.parts([type]);
    assert.deepEqual(Buffer.concat(parts.map(({ bytes }) => bytes)), messages[n]?.frame);
  }
  assert.equal(batch.parts(undefined), batch.parts(undefined), 'created once for all');
});

test('kept messages are limited in number and bytes, and record the position from which they are complete', () => {
  const kept = new KeptMessages({ position: 7, sequence: 0 });
  const batch = (from: number, count: number, bytes = 100) =>
    new Batch(
      Array.from({ length: count }, (_, n) => message(from + n, bytes)),
      { position: 7, sequence: from + count - 1 },
    );
  const at = (sequence: number) => ({ position: 7, sequence });
  kept.add(batch(1, 500), 1_000_000);
  assert.ok(kept.holdsFrom(at(0)));
  assert.deepEqual(sequencesOf(kept.after(at(498))), [499, 500]);
  kept.add(batch(501, 500), 1_000_000);
  assert.ok(!kept.holdsFrom(at(399)) && kept.holdsFrom(at(400)));
  assert.equal(kept.after(at(400)).length, 600);
  assert.ok(kept.knows(at(400)) && kept.knows(at(700)) && kept.knows(at(1000)));
  assert.ok(!kept.knows(at(399)) && !kept.knows({ position: 6, sequence: 700 }));
  kept.add(batch(1001, 3, 50_000), 110_000);
  assert.deepEqual(sequencesOf(kept.after(at(0))), [1002, 1003]);
  kept.add(batch(1004, 1, 500_000), 110_000);
  assert.deepEqual([kept.after(at(0)).length, kept.holdsFrom(at(1004))], [0, true]);
});
