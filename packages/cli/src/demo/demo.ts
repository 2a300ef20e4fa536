import type { Connection } from '../connection.ts';
import type { ConsoleOutput } from '../console-output.ts';
import type { JournalPage } from '../wire.ts';
import { importBacklog } from './backlog-import.ts';
import { type Crew, hireCrew } from './crew.ts';
import { drainBacklog } from './drain.ts';
import type { ImportPlan } from './import-plan.ts';
import { replayJournal } from './journal-replay.ts';
import { percentile } from './latency.ts';
import { Progress } from './progress.ts';
import { proveJournal } from './proof.ts';
import type { DemoResult } from './report.ts';
import { ClaimRate, Tally, total } from './tally.ts';

export interface DemoOptions {
  readonly agents: number;
  readonly kill: boolean;
  readonly workMs: number;
}

const latestClaims = 1000;

/** Imports the plan, lets the agents do it, and proves from the journal that all went as promised. */
export async function runDemo(
  connection: Connection,
  plan: ImportPlan,
  options: DemoOptions,
  output: ConsoleOutput,
): Promise<DemoResult> {
  const crew = await hireCrew(connection, options.agents);
  const progress = new Progress(output);
  try {
    return await runWithCrew(crew, plan, options, progress);
  } finally {
    // Also when the services went away in the middle: its timer would keep this process alive for ever.
    progress.end();
    await crew.dismiss();
  }
}

async function runWithCrew(
  crew: Crew,
  plan: ImportPlan,
  { agents, kill, workMs }: DemoOptions,
  progress: Progress,
): Promise<DemoResult> {
  const startedMs = performance.now();
  const { client: operator } = crew.operator;
  const { nextCursor: before } = await operator.call<JournalPage>('GET', '/events?tail=1');

  let steps = 0;
  progress.begin('importing', plan.tasks.length + plan.relations.length, () => steps);
  const { openTaskIds, waits } = await importBacklog(operator, plan, crew.queueId, () => {
    steps += 1;
  });
  progress.end();
  const importSeconds = secondsSince(startedMs);

  const tally = new Tally();
  const rate = new ClaimRate(tally);
  progress.begin(
    'working',
    openTaskIds.size,
    () => tally.tasksDone,
    () => describe(tally, rate),
  );
  const drainSeconds = await drainBacklog(crew, { tasks: openTaskIds.size, kill, workMs, tally });
  rate.showAverage(drainSeconds);
  progress.end();

  const replayStartedMs = performance.now();
  // Every change so far was committed before this one, so all of it stands before it in the journal.
  const end = await operator.call<{ id: string }>('POST', '/sessions', { clientName: 'baton demo: the end' });
  await operator.call('POST', `/sessions/${end.id}:close`, {});
  const events = await replayJournal(
    operator,
    before,
    ({ type, entityId }) => type === 'session.closed' && entityId === end.id,
  );
  return {
    plan,
    agents,
    importSeconds,
    drainSeconds,
    replaySeconds: secondsSince(replayStartedMs),
    totalSeconds: secondsSince(startedMs),
    exchanges: crew.exchanges(),
    tally,
    proof: proveJournal({ events, openTaskIds, waits }),
  };
}

function describe(tally: Tally, rate: ClaimRate): string {
  const latest = tally.claimMs.slice(-latestClaims);
  const [p50, p99] = [50, 99].map((percent) => Math.round(percentile(latest, percent)));
  const parts = [
    `${rate.perSecond()} claims/s`,
    `p50 ${p50} p99 ${p99} ms`,
    `${total(tally.conflicts)} conflicts survived`,
  ];
  if (tally.killed > 0) parts.push(`${tally.killed} killed`, `${total(tally.stalledRefused)} refused`);
  return parts.join('  ');
}

function secondsSince(ms: number): number {
  return (performance.now() - ms) / 1000;
}
