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
 * `baton operations adapter rebuild`: delivers the journal to the memory service again, from its beginning or a cursor.
 */
export function addAdapterRebuild(adapter: Command, context: CommandContext): void {
  const command = adapter
    .command('rebuild')
    .description('deliver the journal to the memory service again')
    .option('--cursor <cursor>', 'from this cursor on (default: from the oldest existing event)')
    .option('--reason <text>', 'why, for the journal');
  withCommonOptions(command, responseOf('rebuildContextAdapter')).action(
    (options: CommonOptions & { cursor?: string; reason?: string }) =>
      asCaller(options, context, async (baton) => {
        const { cursor, reason } = options;
        const { tenantId } = await baton.operations.getContextAdapter();
        const state = await baton.operations.rebuildContextAdapter(tenantId, {
          ...(cursor !== undefined && { cursor }),
          ...(reason !== undefined && { reason }),
        });
        await show(context.output, options, state, () => [
          'The delivery starts again now.',
          ...formatAdapterState(state),
        ]);
      }),
  );
}
