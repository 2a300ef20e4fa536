import type { Command } from 'commander';
import type { Task } from '@baton/sdk';
import { invocation } from '../../../../bin/invocation.mjs';
import { asCaller, type CommandContext, type CommonOptions, withCommonOptions } from '../command-context.ts';
import { withLimit } from '../limit.ts';
import { responseOf } from '../result-form.ts';
import { show } from '../show.ts';

type Options = CommonOptions & { limit: number };

/** Adds the list of available tasks (GET /work/available). */
export function addAvailable(command: Command, context: CommandContext): void {
  withLimit(withCommonOptions(command, responseOf('listAvailableWork')), 200).action((options: Options) =>
    asCaller(options, context, async (baton) => {
      const page = await baton.work.listAvailable({ limit: options.limit });
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
