import type { Command } from 'commander';
import { wholeNumber } from './whole-number.ts';

const usual = 50;

/**
 * Adds `--limit` to a list command. Anything but a whole number is rejected before a request is sent.
 */
export function withLimit(command: Command, max: number): Command {
  return command.option(
    '--limit <number>',
    `at most this many, up to ${max}; ${usual} by default`,
    wholeNumber(1, max),
    usual,
  );
}
