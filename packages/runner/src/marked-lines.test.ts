import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MarkedLines } from './marked-lines.ts';
import { createMark, fixedMark, lineBytesMax } from './protocol.ts';

const mark = createMark();
const order = `${mark} {"do":"comment","body":"x"}`;

function linesOf(text: string, { usedMark = mark, partBytes = 64 * 1024 } = {}) {
  const lines = new MarkedLines(usedMark);
  const bytes = Buffer.from(text);
  const found: { text: string; isAtStart: boolean; isTooLong?: boolean }[] = [];
  for (let at = 0; at < bytes.length; at += partBytes)
    found.push(...lines.take(bytes.subarray(at, at + partBytes)));
  return [...found, ...lines.end()].map(({ isTooLong, ...line }) => (isTooLong ? 'too long' : line));
}

test('marked lines are found however the output is split, and other lines are not', () => {
  const text = `first\n${order}\r\n ${mark}\n${mark}x\n${createMark()} {}\nBATON_MARK=${mark}\n\0\n${order}`;
  for (const partBytes of [1, 7, 64 * 1024])
    assert.deepEqual(linesOf(text, { partBytes }), [
      { text: order, isAtStart: true },
      { text: order, isAtStart: true },
    ]);
});

test("text that doesn't end its line hides no marked line behind it, however long it is", () => {
  const texts = ['title', '::baton:: nonsense', '::baton:: ', mark, '\0\r', 'x'.repeat(3 * lineBytesMax)];
  for (const text of texts)
    for (const partBytes of [4099, 64 * 1024, 10 * lineBytesMax])
      assert.deepEqual(
        linesOf(`${text}${order}\nnext`, { partBytes }),
        [{ text: order, isAtStart: false }],
        text.slice(0, 20),
      );
});

test('the fixed mark counts at the beginning of a line only, and other text of a long line is not one', () => {
  const fixed = `${fixedMark} {}`;
  const long = 'x'.repeat(lineBytesMax + 1);
  for (const usedMark of [fixedMark, mark])
    for (const partBytes of [4099, 64 * 1024, 10 * lineBytesMax])
      assert.deepEqual(linesOf(`a ${fixed}\n${fixed}\n${long}${fixed}\n`, { usedMark, partBytes }), [
        { text: fixed, isAtStart: true },
      ]);
});

test('a marked line that is too long is reported once, and the next one is found', () => {
  const long = `${mark} ${'x'.repeat(lineBytesMax)}`;
  for (const partBytes of [4099, 64 * 1024, 10 * lineBytesMax])
    assert.deepEqual(linesOf(`${long}\nb${long}\n${order}\n`, { partBytes }), [
      'too long',
      'too long',
      { text: order, isAtStart: true },
    ]);
});
