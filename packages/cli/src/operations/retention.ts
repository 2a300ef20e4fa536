import { type Command, InvalidArgumentError } from 'commander';
import { type CommonOptions, withCommonOptions } from '../command-context.ts';
import type { CoordinationClient } from '../coordination-client.ts';

export type RetentionOptions = CommonOptions & { beforeSeconds?: number; maxEvents?: number };

/** The options of `archive` and `prune`, which take the same body. */
export function withRetentionOptions(command: Command): Command {
  return withCommonOptions(command)
    .option(
      '--before-seconds <seconds>',
      'only events this old (default: CP_JOURNAL_RETENTION_MIN_AGE_SECONDS, 30 days)',
      wholeNumber,
    )
    .option('--max-events <number>', 'at most this many, the oldest first (default: 100000)', wholeNumber);
}

/** Makes the call under a key, so that a repetition after a lost answer does nothing twice. */
export function callRetention<Answer>(
  client: CoordinationClient,
  verb: 'archive' | 'prune',
  { beforeSeconds, maxEvents }: RetentionOptions,
): Promise<Answer> {
  return client.call<Answer>('POST', `/operations/journal:${verb}`, { beforeSeconds, maxEvents });
}

export function countOf(events: number): string {
  return events === 1 ? '1 event' : `${events} events`;
}

function wholeNumber(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.');
  return Number(text);
}
