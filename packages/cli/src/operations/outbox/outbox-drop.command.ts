import type { Command } from 'commander';
import {
  asCaller,
  type CommandContext,
  type CommonOptions,
  withCommonOptions,
} from '../../command-context.ts';
import { responseOf } from '../../result-form.ts';
import { show } from '../../show.ts';
import { formatUndelivered } from './undelivered.ts';

/** `baton operations outbox drop ID`: discards an event for a sink. */
export function addOutboxDrop(outbox: Command, context: CommandContext): void {
  const command = outbox
    .command('drop')
    .argument('<id>', 'from the list')
    .description('discard an event for a sink');
  withCommonOptions(command, responseOf('dropUndeliveredEvent'))
    .requiredOption('--reason <text>', 'why, for the journal')
    .action((id: string, options: CommonOptions & { reason: string }) =>
      asCaller(options, context, async (baton) => {
        const answer = await baton.operations.dropUndeliveredEvent(id, { reason: options.reason });
        await show(context.output, options, answer, () => [`dropped: ${formatUndelivered(answer)}`]);
      }),
    );
}
