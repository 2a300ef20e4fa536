import type { Command } from 'commander';
import {
  asAdministrator,
  type CommandContext,
  type CommonOptions,
  withCommonOptions,
} from '../../command-context.ts';
import { show } from '../../show.ts';
import { lineOf, type Undelivered } from './undelivered.ts';

/** `baton operations outbox drop ID`: give up the delivery of an event to a sink. */
export function addOutboxDrop(outbox: Command, context: CommandContext): void {
  const command = outbox
    .command('drop')
    .argument('<id>', 'of the list')
    .description('give up the delivery of an event to a sink');
  withCommonOptions(command)
    .requiredOption('--reason <text>', 'why, for the journal')
    .action((id: string, options: CommonOptions & { reason: string }) =>
      asAdministrator(options, context, async (client) => {
        const path = `/operations/outbox/${encodeURIComponent(id)}:drop`;
        const answer = await client.call<Undelivered>('POST', path, { reason: options.reason });
        await show(context.output, options, answer, () => [`dropped: ${lineOf(answer)}`]);
      }),
    );
}
