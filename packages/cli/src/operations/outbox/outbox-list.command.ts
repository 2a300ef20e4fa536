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
import { lineOf } from './undelivered.ts';

type Options = CommonOptions & { status?: 'pending' | 'dead'; limit: number; cursor?: string };

/** `baton operations outbox list`: what waits for a sink, or was set aside after its last attempt. */
export function addOutboxList(outbox: Command, context: CommandContext): void {
  const command = outbox.command('list').description('list events that wait for a sink or were set aside');
  withLimit(withCommonOptions(command, responseOf('listUndeliveredEvents')), 200)
    .addOption(new Option('--status <status>', 'only these').choices(['pending', 'dead']))
    .option('--cursor <cursor>', 'go on where a page ended')
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
  if (items.length === 0) return ['Nothing waits for a sink.'];
  return [...items.map(lineOf), ...(nextCursor === null ? [] : [`There are more: --cursor ${nextCursor}`])];
}
