import type { Command } from 'commander';
import { invocation } from '../../../bin/invocation.mjs';
import { commonOptionNames } from './command-context.ts';
import { exitCodes } from './error-text.ts';
import { formatCommand } from './help.ts';
import { PlainError } from './plain-error.ts';

/** Parses a command line in which common options may precede the command: `baton --profile work task list`. */
export interface SplitArgs {
  readonly leading: readonly string[];
  /** The words from the command on. */
  readonly rest: readonly string[];
}

/** Before a command, `--json` takes fields only if the next word is not a command. */
export function splitArgs(args: readonly string[], { commands }: Command): SplitArgs {
  let at = 0;
  for (let word = args[at]; word !== undefined; word = args[at]) {
    const [name = ''] = word.split('=', 1);
    if (!commonOptionNames.includes(name)) break;
    const next = args[at + 1] ?? '-';
    const isAlone =
      word !== name ||
      (name === '--json' && (next.startsWith('-') || commands.some((command) => command.name() === next)));
    at += isAlone ? 1 : 2;
  }
  return { leading: args.slice(0, at), rest: args.slice(at) };
}

/**
 * Sets the options before a command; those after it take precedence. @throws PlainError for a command without such an
 * option
 */
export function applyLeadingOptions(command: Command, leading: readonly string[]): void {
  const behind = command.options
    .map((option) => option.attributeName())
    .filter((name) => command.getOptionValueSource(name) === 'cli')
    .map((name) => [name, command.getOptionValue(name) as unknown] as const);
  const { unknown } = command.parseOptions([...leading]);
  if (unknown.length > 0)
    throw new PlainError(
      `${String(unknown[0])} can't precede ${formatCommand(command)}: see ${invocation()} ${formatCommand(command)} --help.`,
      { exitCode: exitCodes.usage },
    );
  for (const [name, value] of behind) command.setOptionValueWithSource(name, value, 'cli');
}
