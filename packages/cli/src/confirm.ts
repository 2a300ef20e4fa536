import { createInterface } from 'node:readline/promises';
import type { ConsoleOutput } from './console-output.ts';
import { exitCodes } from './error-text.ts';
import { PlainError } from './plain-error.ts';
import { terminalText } from './terminal-text.ts';

/**
 * Prompts at the terminal to confirm a plan.
 * @param question for example `Apply the plan?` @param readsInput whether the plan was read from standard input
 * @throws PlainError if the answer is no, or without a terminal
 */
export async function confirm(question: string, readsInput: boolean, output: ConsoleOutput): Promise<void> {
  if (readsInput || !hasTerminal(output))
    throw new PlainError('Nothing was changed: pass --yes to apply it, or --dry-run to only show the plan.', {
      exitCode: exitCodes.usage,
    });
  if (!(await promptYes(question))) throw new PlainError('Nothing was changed.');
}

/** Whether a person is at the terminal. */
export function hasTerminal(output: ConsoleOutput): boolean {
  return process.stdin.isTTY === true && output.isTerminal;
}

/** @returns whether the whole word was entered at the terminal */
export async function promptYes(question: string): Promise<boolean> {
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  // The end of the input, for example by Ctrl-D, means no.
  const ended = new Promise<string>((resolve) => lines.once('close', () => resolve('')));
  const answer = await Promise.race([
    lines.question(`${terminalText(question)} Only yes continues: `),
    ended,
  ]);
  lines.close();
  return answer.trim().toLowerCase() === 'yes';
}
