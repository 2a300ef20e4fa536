import type { Command } from 'commander';
import { asCaller, type CommandContext } from '../command-context.ts';
import { responseOf } from '../result-form.ts';
import { show } from '../show.ts';
import { formatEventCount, type RetentionOptions, readRetention, withRetentionOptions } from './retention.ts';

/** `baton operations archive`: moves old, confirmed history out of the hot table; readers see no difference. */
export function addArchive(operations: Command, context: CommandContext): void {
  const command = operations.command('archive').description('move old, confirmed history to the archive');
  withRetentionOptions(command, responseOf('archiveJournal')).action((options: RetentionOptions) =>
    asCaller(options, context, async (baton) => {
      const answer = await baton.operations.archiveJournal(readRetention(options));
      await show(context.output, options, answer, () => [
        answer.archived === 0
          ? `Nothing was archived: no event is ${answer.minAgeSeconds} s old, confirmed by all consumers and delivered.`
          : `${formatEventCount(answer.archived)} archived, through ${answer.journalFloorCursor}.`,
      ]);
    }),
  );
}
