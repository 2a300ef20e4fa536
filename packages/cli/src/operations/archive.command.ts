import type { Command } from 'commander';
import { asAdministrator, type CommandContext } from '../command-context.ts';
import { show } from '../show.ts';
import { callRetention, countOf, type RetentionOptions, withRetentionOptions } from './retention.ts';

interface Archiving {
  readonly archived: number;
  readonly journalFloorCursor: string;
  readonly archiveFloorCursor: string;
  readonly minAgeSeconds: number;
}

/** `baton operations archive`: moves old, confirmed history out of the hot table; readers see no difference. */
export function addArchive(operations: Command, context: CommandContext): void {
  const command = operations.command('archive').description('move old, confirmed history to the archive');
  withRetentionOptions(command).action((options: RetentionOptions) =>
    asAdministrator(options, context, async (client) => {
      const answer = await callRetention<Archiving>(client, 'archive', options);
      await show(context.output, options, answer, () => [
        answer.archived === 0
          ? `Nothing was archived: no event is ${answer.minAgeSeconds} s old, confirmed by all consumers and delivered.`
          : `${countOf(answer.archived)} archived, through ${answer.journalFloorCursor}.`,
      ]);
    }),
  );
}
