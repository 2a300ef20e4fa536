import type { Command } from 'commander';
import {
  asCaller,
  type CommandContext,
  type CommonOptions,
  withCommonOptions,
} from '../../command-context.ts';
import { responseOf } from '../../result-form.ts';
import { show } from '../../show.ts';
import { formatAdapterState } from './adapter-state.ts';

/**
 * `baton operations adapter redrive`: retries the event at which the tenant's delivery is on hold.
 */
export function addAdapterRedrive(adapter: Command, context: CommandContext): void {
  const command = adapter
    .command('redrive')
    .description('retry the event at which the delivery is on hold')
    .option('--reason <text>', 'why, for the journal');
  withCommonOptions(command, responseOf('redriveContextAdapter')).action(
    (options: CommonOptions & { reason?: string }) =>
      asCaller(options, context, async (baton) => {
        const { tenantId } = await baton.operations.getContextAdapter();
        const { reason } = options;
        const body = reason === undefined ? {} : { reason };
        const state = await baton.operations.redriveContextAdapter(tenantId, body);
        await show(context.output, options, state, () => [
          'It is retried now.',
          ...formatAdapterState(state),
        ]);
      }),
  );
}
