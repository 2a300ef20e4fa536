import { randomUUID } from 'node:crypto';
import type { Command } from 'commander';
import {
  asAdministrator,
  type CommandContext,
  type CommonOptions,
  withCommonOptions,
} from '../../command-context.ts';
import { show } from '../../console-output.ts';
import { lineOf, type Undelivered } from './undelivered.ts';

/** `baton operations outbox redrive ID`: have an event that was set aside delivered again. */
export function addOutboxRedrive(outbox: Command, context: CommandContext): void {
  const command = outbox
    .command('redrive')
    .argument('<id>', 'of the list')
    .description('have an event that was set aside delivered again');
  withCommonOptions(command)
    .option('--reason <text>', 'why, for the journal', 'operator_redrive')
    .action((id: string, options: CommonOptions & { reason: string }) =>
      asAdministrator(options, context, async (client) => {
        const headers = { 'idempotency-key': randomUUID() };
        const path = `/operations/outbox/${encodeURIComponent(id)}:redrive`;
        const answer = await client.call<Undelivered>('POST', path, { reason: options.reason }, { headers });
        show(context.output, options.json, answer, () => [`tried again: ${lineOf(answer)}`]);
      }),
    );
}
