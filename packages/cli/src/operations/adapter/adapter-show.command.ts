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
 * `baton operations adapter show`: the progress of delivery to the memory service, and the event at which it is
 * on hold.
 */
export function addAdapterShow(adapter: Command, context: CommandContext): void {
  const command = adapter
    .command('show')
    .description('show the progress of the delivery to the memory service');
  withCommonOptions(command, responseOf('getContextAdapter')).action((options: CommonOptions) =>
    asCaller(options, context, async (baton) => {
      const state = await baton.operations.getContextAdapter();
      await show(context.output, options, state, () => formatAdapterState(state));
    }),
  );
}
