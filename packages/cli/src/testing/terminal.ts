import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { repository } from '@baton/testing/baton-process';

/** The reason why tests at a terminal are skipped: `script` of util-linux makes the pseudo-terminal. */
export const noTerminal = spawnSync('script', ['--version']).error !== undefined && 'script is not installed';

/** The end of the input, as Ctrl-D sends it. */
export const endOfInput = '\u0004';

/** The input at a prompt, or a function that returns it. */
export type Answer = string | (() => Promise<string>);

interface TerminalOptions {
  readonly cwd: string;
  /** The command's environment, without PATH. */
  readonly env: Readonly<Record<string, string>>;
  /** One answer per prompt of the command. */
  readonly answers?: readonly Answer[];
}

/** The shell command that runs `baton WORDS`. */
export const commandLine = (words: string) =>
  `${process.execPath} --disable-warning=ExperimentalWarning ${join(repository, 'packages/cli/src/main.ts')} ${words}`;

/**
 * Runs a shell command at a pseudo-terminal.
 * @throws AssertionError if the numbers of prompts and answers differ
 */
export async function runAtTerminal(command: string, { cwd, env, answers = [] }: TerminalOptions) {
  const child = spawn('script', ['-qec', command, '/dev/null'], {
    cwd,
    env: { PATH: process.env.PATH, ...env },
  });
  let printed = '';
  let questions = 0;
  const failures: unknown[] = [];
  const type = async (answer: Answer) =>
    child.stdin.write(typeof answer === 'string' ? answer : await answer());
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    printed += chunk;
    while (printed.split('Only yes continues: ').length - 1 > questions) {
      type(answers[questions] ?? endOfInput).catch((error: unknown) => {
        failures.push(error);
        child.kill();
      });
      questions += 1;
    }
  });
  const [code] = (await once(child, 'close')) as [number];
  child.stdin.destroy();
  const text = printed.replaceAll('\r\n', '\n');
  assert.deepEqual(failures, []);
  assert.equal(questions, answers.length, text);
  return { code, text };
}
