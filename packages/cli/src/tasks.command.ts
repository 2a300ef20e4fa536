import type { Command } from 'commander';
import {
  asAdministrator,
  type CommandContext,
  type CommonOptions,
  withCommonOptions,
} from './command-context.ts';
import { show } from './console-output.ts';
import type { Page, Task } from './wire.ts';

/** `baton tasks`: the tasks that the caller could claim now (GET /work/available). */
export function addTasks(program: Command, context: CommandContext): void {
  const command = program.command('tasks').description('list the tasks that can be claimed now');
  withCommonOptions(command)
    .option('--limit <number>', 'at most this many, up to 200', '50')
    .action((options: CommonOptions & { limit: string }) =>
      asAdministrator(options, context, async (client) => {
        const query = new URLSearchParams({ limit: options.limit });
        const page = await client.call<Page<Task>>('GET', `/work/available?${query}`);
        show(context.output, options.json, page, () => linesOf(page));
      }),
    );
}

function linesOf({ items, nextCursor }: Page<Task>): string[] {
  if (items.length === 0)
    return ['No task can be claimed now. Create one: npx baton task create "My first task"'];
  const lines = items.map(
    ({ publicId, priority, status, title }) =>
      `${publicId}  ${priority.padEnd(8)}  ${status.padEnd(11)}  ${title}`,
  );
  return nextCursor === null ? lines : [...lines, 'There are more: raise --limit.'];
}
