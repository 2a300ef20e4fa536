import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { noTerminal, runAtTerminal } from './testing/terminal.ts';

const clearLine = '\r\u001b[2K';
const hostile = 'a\u001b]52;c;eA==\u0007\u009b2J\u202eb\tc\n';
const script = `
  import { consoleOutput } from ${JSON.stringify(new URL('console-output.ts', import.meta.url))};
  const output = consoleOutput();
  for (const text of ${JSON.stringify([hostile, `${clearLine}${hostile}`])}) output.progress(text);
  output.line(${JSON.stringify(hostile.trimEnd())});`;
const shown = 'a\\u001b]52;c;eA==\\u0007\\u009b2J\\u202eb\tc\n';

test('on both outputs a terminal gets no control characters of untrusted text, and a file gets them unchanged', {
  skip: noTerminal,
}, async () => {
  const args = ['--disable-warning=ExperimentalWarning', '--input-type=module-typescript', '-e', script];
  const piped = spawnSync(process.execPath, args, { encoding: 'utf8' });
  assert.equal(piped.status, 0, piped.stderr);
  assert.equal(piped.stdout, hostile);
  assert.equal(piped.stderr, `${hostile}${clearLine}${hostile}`);
  const quoted = [process.execPath, ...args].map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ');
  const { text } = await runAtTerminal(quoted, { cwd: import.meta.dirname, env: {} });
  assert.equal(text, `${shown}${clearLine}${shown}${shown}`);
});
