import { type Command, InvalidArgumentError } from 'commander';
import { asCaller, type CommandContext, type CommonOptions, withCommonOptions } from '../command-context.ts';
import { PlainError } from '../plain-error.ts';
import { fieldsNamed } from '../result-form.ts';
import { show } from '../show.ts';
import { type EventLines, linesToFile, linesToOutput } from './event-lines.ts';
import { type EventRange, eventsOf } from './event-range.ts';
import { formatEventCount } from './retention.ts';

type Options = CommonOptions & EventRange & { file?: string; resume?: boolean };

interface Exported {
  readonly events: number;
  /** The position from which a later export continues. */
  readonly cursor: string | null;
}

/** `baton operations export`: the journal as JSON lines, one per event, read page by page, with one page in memory. */
export function addExport(operations: Command, context: CommandContext): void {
  const command = operations
    .command('export')
    .description('write the journal as JSON lines, the oldest event first');
  withCommonOptions(command, fieldsNamed('events', 'cursor'))
    .option('--file <path>', 'write to this new file (mode 0600) instead of standard output')
    .option('--resume', 'continue after the last complete line of the file')
    .option('--after <cursor>', 'begin after this cursor (default: the oldest existing event)')
    .option('--through <cursor>', 'end with the event that has this cursor')
    .option('--since <time>', 'only events from this time on: 2026-01-31T00:00:00Z', time)
    .option('--until <time>', 'only events before this time', time)
    .option('--types <prefixes>', 'only types with these prefixes, separated by commas: task.,claim.')
    .action((options: Options) =>
      asCaller(options, context, async (baton) => {
        const lines = await linesOf(options, context);
        const exported = await writeAll(
          eventsOf(baton, { ...options, after: lines.cursor ?? options.after }),
          lines,
        );
        await report(exported, options, context);
      }),
    );
}

async function writeAll(events: ReturnType<typeof eventsOf>, lines: EventLines): Promise<Exported> {
  let count = 0;
  let cursor = lines.cursor ?? null;
  try {
    for await (const event of events) {
      await lines.write(JSON.stringify(event));
      count += 1;
      cursor = event.cursor;
    }
  } finally {
    await lines.close();
  }
  return { events: count, cursor };
}

function linesOf({ file, resume, after }: Options, { output }: CommandContext): Promise<EventLines> {
  if (file !== undefined) return linesToFile(file, resume === true);
  if (resume) throw new PlainError('--resume continues a file: name it with --file.');
  return Promise.resolve(linesToOutput(output, after));
}

/** Standard output contains the events, unless they go to a file. */
async function report(
  exported: Exported,
  { file, ...options }: Options,
  { output }: CommandContext,
): Promise<void> {
  const sentence = `${formatEventCount(exported.events)} exported.${exported.cursor === null ? '' : ` To continue later: --after ${exported.cursor}`}`;
  if (file === undefined) output.progress(`${options.json ? JSON.stringify(exported) : sentence}\n`);
  else await show(output, options, exported, () => [sentence]);
}

function time(text: string): number {
  const at = /^\d{4}-\d\d-\d\dT.*(Z|[+-]\d\d:\d\d)$/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(at))
    throw new InvalidArgumentError('It must be a time with a UTC offset, such as 2026-01-31T00:00:00Z.');
  return at;
}
