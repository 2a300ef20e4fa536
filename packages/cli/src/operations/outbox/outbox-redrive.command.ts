import type { Command } from 'commander';
import { type BatonClient, BatonError } from '@baton/sdk';
import {
  asCaller,
  type CommandContext,
  type CommonOptions,
  withCommonOptions,
} from '../../command-context.ts';
import { PlainError } from '../../plain-error.ts';
import { responseOf } from '../../result-form.ts';
import { show } from '../../show.ts';
import { formatUndelivered } from './undelivered.ts';

type Options = CommonOptions & { reason: string; all?: boolean; sink?: string };

/** `baton operations outbox redrive ID`, or `--all`: delivers dead letters again. */
export function addOutboxRedrive(outbox: Command, context: CommandContext): void {
  const command = outbox
    .command('redrive')
    .argument('[id]', 'from the list')
    .description('deliver dead letters again');
  withCommonOptions(command, responseOf('redriveUndeliveredEvent', 'redriven'))
    .option('--all', 'all dead letters, instead of one')
    .option('--sink <name>', 'with --all: only those of this sink')
    .option('--reason <text>', 'why, for the journal', 'operator_redrive')
    .action((id: string | undefined, options: Options) =>
      asCaller(options, context, async (baton) => {
        if ((id === undefined) !== (options.all === true)) throw new PlainError('Name one ID, or --all.');
        if (options.sink !== undefined && id !== undefined) throw new PlainError('--sink requires --all.');
        if (id === undefined) return redriveAll(baton, options, context);
        const answer = await baton.operations.redriveUndeliveredEvent(id, { reason: options.reason });
        await show(context.output, options, answer, () => [`retried: ${formatUndelivered(answer)}`]);
      }),
    );
}

/**
 * Page by page, starting with the newest: an event that fails again in the meantime keeps its position, and is not
 * retried twice.
 */
async function redriveAll(
  baton: BatonClient,
  { reason, sink, ...options }: Options,
  { output }: CommandContext,
): Promise<void> {
  let redriven = 0;
  try {
    for await (const { id, ...found } of baton.operations.listUndeliveredEvents({
      status: 'dead',
      limit: 200,
    }))
      if ((sink === undefined || found.sink === sink) && (await redriveIfThere(baton, id, reason)))
        redriven += 1;
  } catch (error) {
    output.progress(`${countOf(redriven)}, then the command failed.\n`);
    throw error;
  }
  await show(output, options, { redriven }, () => [`${countOf(redriven)}.`]);
}

/** An event that was delivered or dropped since it was listed is skipped. */
async function redriveIfThere(baton: BatonClient, id: string, reason: string): Promise<boolean> {
  try {
    await baton.operations.redriveUndeliveredEvent(id, { reason });
    return true;
  } catch (error) {
    if (error instanceof BatonError && error.code === 'not_found') return false;
    throw error;
  }
}

const countOf = (events: number) => (events === 1 ? '1 event is retried' : `${events} events are retried`);
