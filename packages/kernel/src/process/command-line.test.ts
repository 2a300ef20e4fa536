import assert from 'node:assert/strict';
import { afterEach, mock, test } from 'node:test';
import { runCommand } from './command-line.ts';

const [node = '', file = ''] = process.argv;

afterEach(() => {
  mock.restoreAll();
  process.argv = [node, file];
  process.exitCode = undefined;
});

/** Runs one command line; returns its standard error output and the exit code. */
async function run(...words: string[]) {
  const written: string[] = [];
  mock.method(process.stderr, 'write', (text: string) => written.push(text) > 0);
  process.argv = [node, file, ...words];
  const commands = {
    fail: (args: string[]) => Promise.reject(new Error(`failed with ${args.join()}`)),
  };
  await runCommand('the usage', commands, () => 3, { audit: 'the usage of audit' });
  mock.restoreAll();
  return { written: written.join(''), exitCode: process.exitCode };
}

for (const word of ['', 'dance', 'constructor', '__proto__'])
  test(`the unknown command '${word}' prints the usage and ends with 2`, async () => {
    assert.deepEqual(await run(word), { written: 'the usage', exitCode: 2 });
  });

test('a failed command prints its sentence and ends with its exit code', async () => {
  assert.deepEqual(await run('fail', 'a', 'b'), { written: 'failed with a,b\n', exitCode: 3 });
});

test('--help prints the usage to standard output and runs no command', async () => {
  for (const words of [['--help'], ['fail', '--help'], ['fail', 'a', '-h'], ['audit', 'verify', '--help']]) {
    const printed: string[] = [];
    mock.method(process.stdout, 'write', (text: string) => printed.push(text) > 0);
    const { written, exitCode } = await run(...words);
    const usage = words[0] === 'audit' ? 'the usage of audit' : 'the usage';
    assert.deepEqual([printed.join(''), written, exitCode], [usage, '', undefined]);
  }
});
