import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import type { BatonClient } from '@baton/sdk';
import { asCaller, type CommandContext, type CommonOptions, withCommonOptions } from '../command-context.ts';
import type { ConsoleOutput } from '../console-output.ts';
import { responseOf } from '../result-form.ts';
import { show } from '../show.ts';
import { wholeNumber } from '../whole-number.ts';
import { formatEvent } from './event-line.ts';

type Options = CommonOptions & { follow?: boolean; tail: number; types?: string };

const followPauseMs = 500;

/** `baton events`: the newest events of the journal, one per line; with --follow also every later one. */
export function addEvents(program: Command, context: CommandContext): void {
  const command = program.command('events').description('show the newest events of the journal');
  withCommonOptions(command, responseOf('listEvents'))
    .option('--follow', 'continue with new events until stopped')
    .option(
      '--tail <number>',
      'the number of newest events, up to 200; 20 by default',
      wholeNumber(1, 200),
      20,
    )
    .option('--types <prefixes>', 'only types with these prefixes, separated by commas: task.,claim.')
    .action((options: Options) =>
      asCaller(options, context, (baton) => showEvents(baton, options, context.output)),
    );
}

async function showEvents(baton: BatonClient, options: Options, output: ConsoleOutput): Promise<void> {
  const filter = options.types === undefined ? {} : { types: options.types };
  let page = await baton.events.list({ tail: options.tail, limit: options.tail, ...filter });
  for (;;) {
    for (const event of page.items) {
      await show(output, options, event, () => [formatEvent(event)]);
      await output.drained?.();
    }
    if (!options.follow) return;
    if (!page.hasMore) await sleep(followPauseMs);
    page = await baton.events.list({ cursor: page.nextCursor, limit: 200, ...filter });
  }
}
