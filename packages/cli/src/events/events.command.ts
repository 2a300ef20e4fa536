import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import {
  asAdministrator,
  type CommandContext,
  type CommonOptions,
  withCommonOptions,
} from '../command-context.ts';
import type { ConsoleOutput } from '../console-output.ts';
import type { CoordinationClient } from '../coordination-client.ts';
import type { JournalPage } from '../wire.ts';
import { lineOf } from './event-line.ts';

type Options = CommonOptions & { follow?: boolean; tail: string; types?: string };

const followPauseMs = 500;

/** `baton events`: the newest events of the journal, one per line; with --follow also every later one. */
export function addEvents(program: Command, context: CommandContext): void {
  const command = program.command('events').description('show the newest events of the journal');
  withCommonOptions(command)
    .option('--follow', 'keep printing new events until stopped')
    .option('--tail <number>', 'how many of the newest events, up to 200', '20')
    .option('--types <prefixes>', 'only types with these prefixes, separated by commas: task.,claim.')
    .action((options: Options) =>
      asAdministrator(options, context, (client) => showEvents(client, options, context.output)),
    );
}

async function showEvents(
  client: CoordinationClient,
  options: Options,
  output: ConsoleOutput,
): Promise<void> {
  const filter: Record<string, string> = options.types === undefined ? {} : { types: options.types };
  const query = new URLSearchParams({ tail: options.tail, limit: options.tail, ...filter });
  let page = await client.call<JournalPage>('GET', `/events?${query}`);
  for (;;) {
    for (const event of page.items) output.line(options.json ? JSON.stringify(event) : lineOf(event));
    if (!options.follow) return;
    if (!page.hasMore) await sleep(followPauseMs);
    const next = new URLSearchParams({ cursor: page.nextCursor, limit: '200', ...filter });
    page = await client.call<JournalPage>('GET', `/events?${next}`);
  }
}
