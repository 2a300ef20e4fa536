import type { Command } from 'commander';
import {
  asAdministrator,
  type CommandContext,
  type CommonOptions,
  withCommonOptions,
} from './command-context.ts';
import { show } from './console-output.ts';
import type { Task } from './wire.ts';

type Options = CommonOptions & { description?: string; priority?: string };

/** `baton task create TITLE`. */
export function addTaskCreate(task: Command, context: CommandContext): void {
  const command = task.command('create <title>').description('create a task');
  withCommonOptions(command)
    .option('--description <text>', 'what is to be done')
    .option('--priority <word>', 'critical, high, medium or low (default: medium)')
    .action((title: string, options: Options) =>
      asAdministrator(options, context, async (client) => {
        const { description, priority } = options;
        const created = await client.call<Task>('POST', '/tasks', { title, description, priority });
        show(context.output, options.json, created, () => [
          `${created.publicId} created: ${created.title} (${created.status}, priority ${created.priority}).`,
        ]);
      }),
    );
}
