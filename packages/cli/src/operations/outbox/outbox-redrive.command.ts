import type { Command } from 'commander';
import { BatonError } from '@baton/sdk';
import {
  asAdministrator,
  type CommandContext,
  type CommonOptions,
  withCommonOptions,
} from '../../command-context.ts';
import type { CoordinationClient } from '../../coordination-client.ts';
import { PlainError } from '../../plain-error.ts';
import { show } from '../../show.ts';
import type { Page } from '../../wire.ts';
import { lineOf, type Undelivered } from './undelivered.ts';

type Options = CommonOptions & { reason: string; all?: boolean; sink?: string };

/** `baton operations outbox redrive ID`, or `--all`: have what was set aside delivered again. */
export function addOutboxRedrive(outbox: Command, context: CommandContext): void {
  const command = outbox
    .command('redrive')
    .argument('[id]', 'of the list')
    .description('have events that were set aside delivered again');
  withCommonOptions(command)
    .option('--all', 'all that are set aside, instead of one')
    .option('--sink <name>', 'with --all: only those of this sink')
    .option('--reason <text>', 'why, for the journal', 'operator_redrive')
    .action((id: string | undefined, options: Options) =>
      asAdministrator(options, context, async (client) => {
        if ((id === undefined) !== (options.all === true)) throw new PlainError('Name one ID, or --all.');
        if (options.sink !== undefined && id !== undefined) throw new PlainError('--sink goes with --all.');
        if (id === undefined) return redriveAll(client, options, context);
        const answer = await redrive(client, id, options.reason);
        await show(context.output, options, answer, () => [`tried again: ${lineOf(answer)}`]);
      }),
    );
}

function redrive(client: CoordinationClient, id: string, reason: string): Promise<Undelivered> {
  const path = `/operations/outbox/${encodeURIComponent(id)}:redrive`;
  return client.call<Undelivered>('POST', path, { reason });
}

/** Page by page, from the newest on: what fails again meanwhile keeps its place, and is not met twice. */
async function redriveAll(
  client: CoordinationClient,
  { reason, sink, ...options }: Options,
  { output }: CommandContext,
): Promise<void> {
  let redriven = 0;
  try {
    for await (const { id, ...found } of deadLetters(client))
      if ((sink === undefined || found.sink === sink) && (await redriveIfThere(client, id, reason)))
        redriven += 1;
  } catch (error) {
    output.progress(`${countOf(redriven)}, then it failed.\n`);
    throw error;
  }
  await show(output, options, { redriven }, () => [`${countOf(redriven)}.`]);
}

async function* deadLetters(client: CoordinationClient): AsyncGenerator<Undelivered> {
  let cursor: string | null = null;
  do {
    const after = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const page: Page<Undelivered> = await client.call(
      'GET',
      `/operations/outbox?status=dead&limit=200${after}`,
    );
    yield* page.items;
    cursor = page.nextCursor;
  } while (cursor !== null);
}

/** One that was delivered or dropped since it was listed is passed over. */
async function redriveIfThere(client: CoordinationClient, id: string, reason: string): Promise<boolean> {
  try {
    await redrive(client, id, reason);
    return true;
  } catch (error) {
    if (error instanceof BatonError && error.code === 'not_found') return false;
    throw error;
  }
}

const countOf = (events: number) =>
  events === 1 ? '1 event is tried again' : `${events} events are tried again`;
