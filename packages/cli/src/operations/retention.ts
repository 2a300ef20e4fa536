import { type Command, InvalidArgumentError } from 'commander';
import type { JournalRetention } from '@baton/sdk';
import { type CommonOptions, withCommonOptions } from '../command-context.ts';
import { type ResultForm } from '../result-form.ts';

export type RetentionOptions = CommonOptions & { beforeSeconds?: number; maxEvents?: number };

/** The options of `archive` and `prune`, which take the same body. */
export function withRetentionOptions(command: Command, result: ResultForm): Command {
  return withCommonOptions(command, result)
    .option(
      '--before-seconds <seconds>',
      'only events this old (default: CP_JOURNAL_RETENTION_MIN_AGE_SECONDS, 30 days)',
      wholeNumber,
    )
    .option('--max-events <number>', 'at most this many, the oldest first (default: 100000)', wholeNumber);
}

export function readRetention({ beforeSeconds, maxEvents }: RetentionOptions): JournalRetention {
  return {
    ...(beforeSeconds !== undefined && { beforeSeconds }),
    ...(maxEvents !== undefined && { maxEvents }),
  };
}

export function formatEventCount(events: number): string {
  return events === 1 ? '1 event' : `${events} events`;
}

function wholeNumber(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.');
  return Number(text);
}
