import { type Command, Option } from 'commander';
import {
  asAdministrator,
  type CommandContext,
  type CommonOptions,
  withCommonOptions,
} from '../../command-context.ts';
import { show } from '../../show.ts';
import type { Page } from '../../wire.ts';
import { lineOf, type Undelivered } from './undelivered.ts';

type Options = CommonOptions & { status?: string; limit: string; cursor?: string };

/** `baton operations outbox list`: what waits for a sink, or was set aside after its last attempt. */
export function addOutboxList(outbox: Command, context: CommandContext): void {
  const command = outbox.command('list').description('list events that wait for a sink or were set aside');
  withCommonOptions(command)
    .addOption(new Option('--status <status>', 'only these').choices(['pending', 'dead']))
    .option('--limit <number>', 'at most this many, up to 200', '50')
    .option('--cursor <cursor>', 'go on where a page ended')
    .action((options: Options) =>
      asAdministrator(options, context, async (client) => {
        const query = new URLSearchParams({ limit: options.limit });
        if (options.status !== undefined) query.set('status', options.status);
        if (options.cursor !== undefined) query.set('cursor', options.cursor);
        const page = await client.call<Page<Undelivered>>('GET', `/operations/outbox?${query}`);
        await show(context.output, options, page, () => linesOf(page));
      }),
    );
}

function linesOf({ items, nextCursor }: Page<Undelivered>): string[] {
  if (items.length === 0) return ['Nothing waits for a sink.'];
  return [...items.map(lineOf), ...(nextCursor === null ? [] : [`There are more: --cursor ${nextCursor}`])];
}
