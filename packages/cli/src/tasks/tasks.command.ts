import type { Command } from 'commander';
import type { Task } from '@baton/sdk';
import { invocation } from '../../../../bin/invocation.mjs';
import { asCaller, type CommandContext, type CommonOptions, withCommonOptions } from '../command-context.ts';
import { show } from '../show.ts';

type Options = CommonOptions & { limit: string };

/** Adds the list of what can be claimed now (GET /work/available), as `baton tasks` and as `baton work next`. */
export function addAvailable(command: Command, context: CommandContext): void {
  withCommonOptions(command)
    .option('--limit <number>', 'at most this many, up to 200', '50')
    .action((options: Options) =>
      asCaller(options, context, async (baton) => {
        const page = await baton.work.listAvailable({ limit: Number(options.limit) });
        await show(context.output, options, page, () => linesOf(page));
      }),
    );
}

function linesOf({ items, nextCursor }: { items: readonly Task[]; nextCursor: string | null }): string[] {
  if (items.length === 0)
    return [`No task can be claimed now. Create one: ${invocation()} task create "My first task"`];
  const lines = items.map(
    ({ publicId, priority, status, title }) =>
      `${publicId}  ${priority.padEnd(8)}  ${status.padEnd(11)}  ${title}`,
  );
  return nextCursor === null ? lines : [...lines, 'There are more: raise --limit.'];
}
