import { type Command, InvalidArgumentError } from 'commander';
import type { BatonClient, JournalEvent } from '@baton/sdk';
import { asCaller, type CommandContext, type CommonOptions, withCommonOptions } from '../command-context.ts';
import { responseOf } from '../result-form.ts';
import { show } from '../show.ts';
import { wholeNumber } from '../whole-number.ts';
import { formatEvent } from './event-line.ts';
import { beginningAt, sinceMs } from './since.ts';

type Options = CommonOptions & { type: string[]; since?: number; max?: number };

const typesMax = 20;
const eventsMax = 1_000_000_000;
/**
 * How many event ids are remembered to skip duplicates: the last event before an interruption is delivered again if its
 * cursor was not read.
 */
const rememberedIds = 1000;

/** `baton event tail`: the events from now on, or since a given time, until it is stopped. */
export function addEventTail(program: Command, context: CommandContext): void {
  const command = program
    .command('event')
    .description('the journal, live')
    .command('tail')
    .description('print events as they happen, until Ctrl-C; --json prints one JSON object per line');
  withCommonOptions(command, responseOf('listEvents'))
    .option(
      '--type <prefixes>',
      'only types with these prefixes, repeated or separated by commas: task.,claim.',
      prefixes,
      [],
    )
    .option(
      '--since <time>',
      'start with events since this time: 2026-01-31T00:00:00Z, or 90s, 15m, 2h, 3d ago',
      since,
    )
    .option('--max <number>', 'stop after this many events', wholeNumber(1, eventsMax))
    .action((options: Options) => asCaller(options, context, (baton) => tail(baton, options, context)));
}

async function tail(
  baton: BatonClient,
  { type: types, since: at, max = Number.POSITIVE_INFINITY, ...options }: Options,
  { output }: CommandContext,
): Promise<void> {
  const stop = new AbortController();
  const { signal } = stop;
  const onSignal = () => stop.abort(new Error('stopped'));
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, onSignal);
  try {
    const from = at === undefined ? undefined : await beginningAt(baton, at, signal);
    if (output.isTerminal) output.progress('Waiting for events; Ctrl-C ends.\n');
    let printed = 0;
    const following = baton.events.follow({
      signal,
      dedupe: rememberedIds,
      ...(from !== undefined && { cursor: from.cursor }),
      ...(types.length > 0 && { types }),
    });
    for await (const event of oneAfterTheOther(from?.first ?? [], following)) {
      if (at !== undefined && Date.parse(event.occurredAt) < at) continue;
      if (types.length > 0 && !types.some((prefix) => event.type.startsWith(prefix))) continue;
      await show(output, options, event, () => [formatEvent(event)]);
      await output.drained?.();
      printed += 1;
      if (printed >= max) return;
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    for (const name of ['SIGINT', 'SIGTERM'] as const) process.off(name, onSignal);
    // Ends the socket after --max.
    stop.abort(new Error('stopped'));
  }
}

async function* oneAfterTheOther(
  first: readonly JournalEvent[],
  rest: AsyncIterable<JournalEvent>,
): AsyncGenerator<JournalEvent> {
  yield* first;
  yield* rest;
}

function prefixes(text: string, before: readonly string[]): string[] {
  const all = [...before, ...text.split(',').map((one) => one.trim())].filter((one) => one !== '');
  const wrong = all.find((one) => !/^[a-z][a-z0-9_]*(\.[a-z0-9_]*)*$/.test(one));
  if (wrong !== undefined) throw new InvalidArgumentError('A type has the form task. or task.created.');
  if (all.length > typesMax) throw new InvalidArgumentError(`It accepts at most ${typesMax} types.`);
  return all;
}

function since(text: string): number {
  const at = sinceMs(text, Date.now());
  if (at === undefined)
    throw new InvalidArgumentError(
      'It must be a time with a UTC offset, such as 2026-01-31T00:00:00Z, or an age such as 15m.',
    );
  return at;
}
