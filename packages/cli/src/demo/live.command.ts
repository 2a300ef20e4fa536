import type { Command } from 'commander';
import { type RemovedDemo, removeDemo } from '@baton/demo/demo-removal';
import { findDemoWorkspaces } from '@baton/demo/demo-workspace';
import { runLiveDemo } from '@baton/demo/live/live-demo';
import { openAccess } from '@baton/demo/participants';
import { counted } from '@baton/values/counted';
import { invocation } from '../../../../bin/invocation.mjs';
import { type CommandContext, type CommonOptions, withCommonOptions } from '../command-context.ts';
import { readConnection } from '../connection.ts';
import { httpTransport } from '../http-transport.ts';
import { anyResult } from '../result-form.ts';
import { show } from '../show.ts';
import { wholeNumber } from '../whole-number.ts';
import { withPlainFailures } from './plain-failures.ts';

interface LiveOptions extends CommonOptions {
  readonly stepMs: number;
  readonly waitMinutes: number;
}

const interrupted = 130;

/**
 * `baton demo live` and `baton demo remove`: shows agents at work in a workspace of their own. The options of `baton
 * demo` are defined there.
 */
export function addLiveDemo(demo: Command, context: CommandContext): void {
  const live = demo
    .command('live')
    .description('let four agents work in a workspace of their own, slowly enough to watch in the console')
    .option('--step-ms <number>', 'the average duration of one step', wholeNumber(50, 60_000), 1_500)
    .option(
      '--wait-minutes <number>',
      'how long the agents wait for your decisions',
      wholeNumber(1, 600),
      30,
    );
  withCommonOptions(live, anyResult).action((_options, command: Command) =>
    watchable(command.optsWithGlobals<LiveOptions>(), context),
  );
  const remove = demo
    .command('remove')
    .description('remove every demo: disable its principals, cancel its open tasks, archive its workspaces');
  withCommonOptions(remove, anyResult).action(async (_options, command: Command) => {
    const options = command.optsWithGlobals<CommonOptions>();
    const connection = readConnection(options, context.config);
    const { baton, close } = openAccess(connection, httpTransport());
    try {
      const removed: RemovedDemo[] = [];
      for (const workspace of await findDemoWorkspaces(baton))
        removed.push(await removeDemo(baton, workspace, connection.tenantId));
      await show(context.output, options, { items: removed }, () => removedLines(removed));
    } finally {
      close();
    }
  });
}

async function watchable(options: LiveOptions, { config, output }: CommandContext): Promise<void> {
  const connection = readConnection(options, config);
  const stop = new AbortController();
  const onSignal = () => stop.abort();
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const signal of signals) process.on(signal, onSignal);
  try {
    const result = await withPlainFailures(
      runLiveDemo(connection, httpTransport(), {
        stepMs: options.stepMs,
        waitMs: options.waitMinutes * 60_000,
        signal: stop.signal,
        ready(workspaceId) {
          output.progress(`Watch it at ${connection.coordinationUrl}/?workspace=${workspaceId}&view=board\n`);
          output.progress(`(${invocation()} console signs your browser in.)\n`);
        },
        say: (line) => output.progress(`${line}\n`),
      }),
    );
    await show(output, options, result, () => [
      `${result.done} of ${counted(result.tasks, 'task')} done; ${counted(result.refused.length, 'late write')} refused (${result.refused.join(', ')}).`,
      ...(result.waits
        ? ['The other tasks wait for you: see the approvals in the inbox of the console.']
        : []),
      `Remove the demo with ${invocation()} demo remove.`,
    ]);
    if (stop.signal.aborted) process.exitCode = interrupted;
  } finally {
    for (const signal of signals) process.removeListener(signal, onSignal);
  }
}

function removedLines(removed: readonly RemovedDemo[]): string[] {
  if (removed.length === 0) return ['There is no demo to remove.'];
  return removed.map(
    ({ workspace, agents, cancelledApprovals, cancelledTasks }) =>
      `Removed ${workspace}: ${counted(agents, 'agent')} disabled, ${counted(cancelledTasks, 'open task')} and ${counted(cancelledApprovals, 'question')} cancelled, the workspace archived.`,
  );
}
