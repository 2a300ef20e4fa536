import { type Command, Option } from 'commander';
import type { UndeliveredEventPage } from '@baton/sdk';
import {
  asCaller,
  type CommandContext,
  type CommonOptions,
  withCommonOptions,
} from '../../command-context.ts';
import { withLimit } from '../../limit.ts';
import { responseOf } from '../../result-form.ts';
import { show } from '../../show.ts';
import { formatUndelivered } from './undelivered.ts';

type Options = CommonOptions & { status?: 'pending' | 'dead'; limit: number; cursor?: string };

/** `baton operations outbox list`: pending events of sinks, and dead letters. */
export function addOutboxList(outbox: Command, context: CommandContext): void {
  const command = outbox.command('list').description('list pending events of sinks, and dead letters');
  withLimit(withCommonOptions(command, responseOf('listUndeliveredEvents')), 200)
    .addOption(new Option('--status <status>', 'only events with this status').choices(['pending', 'dead']))
    .option('--cursor <cursor>', 'continue after a page')
    .action((options: Options) =>
      asCaller(options, context, async (baton) => {
        const { limit, status, cursor } = options;
        const page = await baton.operations.listUndeliveredEvents({
          limit,
          ...(status !== undefined && { status }),
          ...(cursor !== undefined && { cursor }),
        });
        await show(context.output, options, page, () => linesOf(page));
      }),
    );
}

function linesOf({ items, nextCursor }: UndeliveredEventPage): string[] {
  if (items.length === 0) return ['No event is pending.'];
  return [
    ...items.map(formatUndelivered),
    ...(nextCursor === null ? [] : [`There are more: --cursor ${nextCursor}`]),
  ];
}
