import assert from 'node:assert/strict';
import { test } from 'node:test';
import { terminalText } from './terminal-text.ts';

test('characters that move a cursor or reverse text are escaped, and JSON keeps its value', () => {
  const title = 'A\u001b[2J\u009b2J\u007f\u202eb\u2066\u2028\u{e0041} and \u{1F469}\u200d\u{1F527}';
  const shown = terminalText(JSON.stringify({ title }));
  assert.doesNotMatch(shown.replaceAll('\u200d', ''), /[\p{Cc}\p{Cf}\p{Zl}]/u);
  assert.deepEqual(JSON.parse(shown), { title });
  // A link, and a text for the clipboard: OSC 8 and 52, with ESC and in their C1 form.
  for (const hostile of ['\u001b]8;;http://x\u0007y', '\u009d52;c;eA==\u009c', '\r\u2067a\u2069'])
    assert.doesNotMatch(terminalText(hostile), /[\p{Cc}\p{Cf}]/u);
  assert.equal(terminalText('one\ttwo\nthree'), 'one\ttwo\nthree');
});
