import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Progress } from './progress.ts';

test('progress is whole lines in a log, and one redrawn line on a terminal', () => {
  const written: string[] = [];
  const output = {
    line: () => assert.fail('a line was written'),
    progress: (text: string) => written.push(text),
    columns: 40,
  };
  for (const isTerminal of [false, true]) {
    const progress = new Progress({ ...output, isTerminal });
    progress.begin(
      'working',
      4,
      () => 2,
      () => 'x'.repeat(60),
    );
    progress.end();
  }
  assert.equal(written[0], `working   [############------------] 2/4  ${'x'.repeat(60)}\n`);
  assert.ok(written.slice(1, -1).every((text) => text.startsWith('\r\x1b[2K') && text.length <= 39 + 5));
  assert.equal(written.at(-1), '\n');
});
