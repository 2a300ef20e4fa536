import { program } from '@baton/testing/baton-process';
import { readConfig } from '../config.ts';
import { runProgram } from '../program.ts';

/** The exit of a command, and its output on both streams. */
export interface Said {
  readonly code: number | NodeJS.Signals | null;
  readonly text: string;
}

/**
 * Runs one command of `baton`. It runs in this process, which saves a second per command; one that reads standard input
 * is a separate process.
 * @param environment the command's whole environment
 */
export async function runCommand(
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
  input?: string,
): Promise<Said> {
  if (input !== undefined) {
    const running = program('packages/cli/src/main.ts', args, environment, { hasInput: true });
    running.child.stdin?.end(input);
    return { code: await running.ended, text: running.output() };
  }
  const said: string[] = [];
  const output = {
    line: (text: string) => said.push(`${text}\n`),
    progress: (text: string) => said.push(text),
    isTerminal: false,
    columns: 80,
  };
  const code = await runProgram(args, { config: readConfig(environment), output });
  process.exitCode = 0;
  return { code, text: said.join('') };
}
