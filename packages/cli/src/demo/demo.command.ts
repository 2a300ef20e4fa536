import { type Command, InvalidArgumentError } from 'commander';
import { type CommandContext, type CommonOptions, withCommonOptions } from '../command-context.ts';
import { type Connection, findConnection } from '../connection.ts';
import { show } from '../console-output.ts';
import { PlainError } from '../plain-error.ts';
import { readBacklog } from './backlog.ts';
import { generateBacklog } from './backlog-generator.ts';
import { runDemo } from './demo.ts';
import { planImport } from './import-plan.ts';
import { isReady, startOwnBaton } from './own-baton.ts';
import { isGood, resultJson, resultLines } from './report.ts';

interface Options extends CommonOptions {
  readonly from?: string;
  readonly agents: number;
  readonly tasks?: number;
  readonly kill?: boolean;
  readonly keepStatus?: boolean;
  readonly workMs: number;
}

const generatedTasks = 1000;
const interrupted = 130;

/** `baton demo`: agents drain a backlog, and the journal proves that nothing was done twice or too early. */
export function addDemo(program: Command, context: CommandContext): void {
  const command = program
    .command('demo')
    .description('let sixteen agents drain a backlog, and prove from the journal that all went well');
  withCommonOptions(command)
    .option('--from <file>', 'a backlog, one JSON issue a line (default: a made-up one)')
    .option('--agents <number>', 'how many agents', wholeNumber(1, 200), 16)
    .option(
      '--tasks <number>',
      `how many issues: of the file, or made up (default: all, or ${generatedTasks})`,
      wholeNumber(1, 100_000),
    )
    .option('--kill', 'kill agents at random moments, with their lease held')
    .option('--keep-status', 'leave closed and deleted issues as they are (default: all is done once more)')
    .option('--work-ms <number>', 'how long an agent works on a task, on average', wholeNumber(0, 600_000), 0)
    .action((options: Options) => demonstrate(options, context));
}

async function demonstrate(options: Options, context: CommandContext): Promise<void> {
  const issues =
    options.from === undefined ? generateBacklog(options.tasks ?? generatedTasks) : readBacklog(options.from);
  const plan = planImport(issues.slice(0, options.tasks), options.keepStatus !== true);
  if (!plan.tasks.some(({ fate }) => fate === 'open'))
    throw new PlainError('The backlog has no open issue; leave out --keep-status to do all of it once more.');
  let stop = () => Promise.resolve();
  const forget = onInterrupt(() => stop());
  try {
    const connection = await findBaton(options, context, (begun) => {
      stop = begun;
    });
    const { agents, kill = false, workMs } = options;
    const result = await runDemo(connection, plan, { agents, kill, workMs }, context.output);
    show(context.output, options.json, resultJson(result), () => resultLines(result));
    if (!isGood(result)) process.exitCode = 1;
  } finally {
    await stop();
    forget();
  }
}

/** The Baton that runs already, or one of our own: then `onBegun` is told how to stop it. */
async function findBaton(
  options: Options,
  { config, output }: CommandContext,
  onBegun: (stop: () => Promise<void>) => void,
): Promise<Connection> {
  const connection = findConnection(options, config);
  if (connection !== undefined && (await isReady(connection.coordinationUrl))) {
    output.progress(`Using the Baton at ${connection.coordinationUrl}.\n`);
    return connection;
  }
  if (options.url !== undefined || options.connection !== undefined)
    throw new PlainError(`No Baton answers at ${connection?.coordinationUrl ?? options.url}.`);
  output.progress('No Baton runs here: starting one for the demonstration ...\n');
  return await startOwnBaton(config, onBegun);
}

/**
 * On Ctrl-C what was started is stopped first. One Ctrl-C may arrive twice, from the terminal and from npx.
 * @returns takes this back
 */
function onInterrupt(stop: () => Promise<void>): () => void {
  let stopped: Promise<void> | undefined;
  const end = () => {
    stopped ??= stop().finally(() => process.exit(interrupted));
  };
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const signal of signals) process.on(signal, end);
  return () => {
    for (const signal of signals) process.removeListener(signal, end);
  };
}

function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < min || value > max)
      throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`);
    return value;
  };
}
