import type { Command } from 'commander';
import { asCaller, type CommandContext } from '../command-context.ts';
import { responseOf } from '../result-form.ts';
import { show } from '../show.ts';
import { formatEventCount, type RetentionOptions, readRetention, withRetentionOptions } from './retention.ts';

/** `baton operations prune`: permanently deletes history from the archive. */
export function addPrune(operations: Command, context: CommandContext): void {
  const command = operations
    .command('prune')
    .description('permanently delete old history from the archive: export it first');
  withRetentionOptions(command, responseOf('pruneJournal')).action((options: RetentionOptions) =>
    asCaller(options, context, async (baton) => {
      const answer = await baton.operations.pruneJournal(readRetention(options));
      await show(context.output, options, answer, () => [
        answer.pruned === 0
          ? 'Nothing was deleted: no event of the archive is that old and confirmed by all consumers.'
          : `${formatEventCount(answer.pruned)} deleted. The journal begins after ${answer.archiveFloorCursor}.`,
      ]);
    }),
  );
}
