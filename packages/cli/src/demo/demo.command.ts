import type { Command } from 'commander';
import { generateBacklog } from '@baton/demo/backlog-generator';
import type { BacklogPlan } from '@baton/demo/backlog-plan';
import { runDemo } from '@baton/demo/demo';
import { startDemoMemory } from '@baton/demo/organisation/demo-memory';
import { organisationLines, runOrganisationDemo } from '@baton/demo/organisation/organisation-demo';
import { allHolds, resultJson, resultLines } from '@baton/demo/report';
import { invocation } from '../../../../bin/invocation.mjs';
import { type CommandContext, type CommonOptions, withCommonOptions } from '../command-context.ts';
import { type Connection, findOwnConnection } from '../connection.ts';
import { httpTransport } from '../http-transport.ts';
import { readBacklog } from '../import/forms/beads-lines.ts';
import { PlainError } from '../plain-error.ts';
import { Progress } from '../progress.ts';
import { anyResult } from '../result-form.ts';
import { show } from '../show.ts';
import { wholeNumber } from '../whole-number.ts';
import { planImport } from './import-plan.ts';
import { addLiveDemo } from './live.command.ts';
import { withPlainFailures } from './plain-failures.ts';
import { isReady, startTemporaryBaton } from './temporary-baton.ts';

interface Options extends CommonOptions {
  readonly from?: string;
  readonly agents: number;
  readonly tasks?: number;
  readonly kill?: boolean;
  readonly keepStatus?: boolean;
  readonly workMs: number;
  readonly organisation?: boolean;
}

const generatedTasks = 1000;
const interrupted = 130;

/** `baton demo`: agents drain a backlog, and the journal proves that no task was done twice or too early. */
export function addDemo(program: Command, context: CommandContext): void {
  const command = program
    .command('demo')
    .description('let sixteen agents drain a backlog, then verify the result in the journal');
  addLiveDemo(command, context);
  withCommonOptions(command, anyResult)
    .option('--from <file>', 'a backlog, one JSON issue per line (default: a generated one)')
    .option('--agents <number>', 'the number of agents', wholeNumber(1, 200), 16)
    .option(
      '--tasks <number>',
      `the number of issues to take from the file, or to generate (default: all, or ${generatedTasks})`,
      wholeNumber(1, 100_000),
    )
    .option('--kill', 'kill agents at random while they hold leases')
    .option('--keep-status', 'keep the status of closed and deleted issues (default: all are reopened)')
    .option('--work-ms <number>', 'the average duration of the work on a task', wholeNumber(0, 600_000), 0)
    .option('--organisation', 'set up a small company instead, and show the effects of one finished task')
    .action((options: Options) => {
      if (options.organisation === true) return demonstrateOrganisation(options, context);
      // An invalid file is rejected before anything starts.
      const plan = planOf(options);
      return withBaton(options, context, {}, (connection) => demonstrate(plan, options, context, connection));
    });
}

async function demonstrate(
  plan: BacklogPlan,
  options: Options,
  { output }: CommandContext,
  connection: Connection,
): Promise<void> {
  const { agents, kill = false, workMs } = options;
  const result = await withPlainFailures(
    runDemo(connection, httpTransport(), plan, { agents, kill, workMs }, new Progress(output)),
  );
  await show(output, options, resultJson(result), () => resultLines(result));
  if (!allHolds(result)) process.exitCode = 1;
}

/** @throws PlainError */
function planOf(options: Options): BacklogPlan {
  const issues =
    options.from === undefined ? generateBacklog(options.tasks ?? generatedTasks) : readBacklog(options.from);
  const plan = planImport(issues.slice(0, options.tasks), options.keepStatus !== true);
  if (!plan.tasks.some(({ fate }) => fate === 'open'))
    throw new PlainError('The backlog has no open issue; without --keep-status, all issues are reopened.');
  return plan;
}

/** A Baton that the demo starts has a memory service; a running one may have none, which is then reported. */
async function demonstrateOrganisation(options: Options, context: CommandContext): Promise<void> {
  const memory = await startDemoMemory();
  const settings = {
    CP_CONTEXT_PROVIDER: 'http',
    CP_CONTEXT_BASE_URL: memory.url,
  };
  try {
    await withBaton(options, context, settings, async (connection) => {
      const result = await withPlainFailures(runOrganisationDemo(connection, httpTransport()));
      await show(context.output, options, result, () => organisationLines(result));
    });
  } finally {
    await memory.close();
  }
}

/**
 * Runs a demo with the running Baton, or with a temporary one, which is stopped at the end.
 * @param settings for the temporary one
 */
async function withBaton(
  options: Options,
  context: CommandContext,
  settings: Readonly<Record<string, string>>,
  act: (connection: Connection) => Promise<void>,
): Promise<void> {
  let stop = () => Promise.resolve();
  let isTemporary = false;
  const removeListeners = onInterrupt(() => {
    if (!isTemporary)
      context.output.progress(`${invocation()} demo remove removes what the demo has made so far.\n`);
    return stop();
  });
  try {
    const connection = await findBaton(options, context, settings, (stopSpawned) => {
      isTemporary = true;
      stop = stopSpawned;
    });
    await act(connection);
  } finally {
    await stop();
    removeListeners();
  }
}

/** Returns the running Baton, or a temporary one, which the function passed to `onSpawn` stops. */
async function findBaton(
  options: Options,
  { config, output }: CommandContext,
  settings: Readonly<Record<string, string>>,
  onSpawn: (stop: () => Promise<void>) => void,
): Promise<Connection> {
  const connection = findOwnConnection(options, config);
  if (connection !== undefined && (await isReady(connection.coordinationUrl))) {
    output.progress(`Using the Baton at ${connection.coordinationUrl}.\n`);
    return connection;
  }
  if (options.url !== undefined || options.connection !== undefined)
    throw new PlainError(`No Baton is ready at ${connection?.coordinationUrl ?? options.url}.`);
  output.progress('No Baton is running here: starting a temporary one ...\n');
  return await startTemporaryBaton(config, settings, onSpawn);
}

/**
 * Calls `stop` once on Ctrl-C and then exits. One Ctrl-C may arrive twice, from the terminal and from npx.
 * @returns a function that removes the listeners
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
