import type { Connection } from '@baton/sdk/node';
import { importBacklog } from './backlog-import.ts';
import type { BacklogPlan } from './backlog-plan.ts';
import { drainBacklog } from './drain.ts';
import { replayJournal } from './journal-replay.ts';
import { percentile } from './latency.ts';
import { createParticipants, type HttpTransport, type Participants } from './participants.ts';
import { proveJournal } from './proof.ts';
import type { DemoResult } from './report.ts';
import { ClaimRate, Tally, total } from './tally.ts';

export interface DemoOptions {
  readonly agents: number;
  readonly kill: boolean;
  readonly workMs: number;
}

/** Shows the progress of the demo. */
export interface DemoProgress {
  /** Shows `name` until `end`, with the number of `total` that are done. */
  begin(name: string, total: number, done: () => number, detail?: () => string): void;
  end(): void;
}

const latencyWindowClaims = 1000;

/** Imports the plan, lets the agents do the tasks, and verifies Baton's guarantees from the journal. */
export async function runDemo(
  connection: Connection,
  http: HttpTransport,
  plan: BacklogPlan,
  options: DemoOptions,
  progress: DemoProgress,
): Promise<DemoResult> {
  const participants = await createParticipants(connection, http, options.agents);
  try {
    return await runWithParticipants(participants, plan, options, progress);
  } finally {
    // This also runs after a failure, because the timer of the progress line would keep this process alive.
    progress.end();
    await participants.remove();
  }
}

async function runWithParticipants(
  participants: Participants,
  plan: BacklogPlan,
  { agents, kill, workMs }: DemoOptions,
  progress: DemoProgress,
): Promise<DemoResult> {
  const startedMs = performance.now();
  const { baton: operator } = participants.operator;
  const { nextCursor: before } = await operator.events.list({ tail: 1 });

  let steps = 0;
  progress.begin('importing', plan.tasks.length + plan.relations.length, () => steps);
  const imported = await importBacklog(operator, plan, participants, () => {
    steps += 1;
  });
  progress.end();
  const importSeconds = secondsSince(startedMs);

  const tally = new Tally();
  const rate = new ClaimRate(tally);
  progress.begin(
    'working',
    imported.openTaskIds.size,
    () => tally.tasksDone,
    () => describe(tally, rate),
  );
  const drainSeconds = await drainBacklog(participants, {
    tasks: imported.openTaskIds.size,
    kill,
    workMs,
    tally,
  });
  rate.showAverage(drainSeconds);
  progress.end();

  const replayStartedMs = performance.now();
  // This session marks the end: every earlier change is committed, so its event precedes the session's events in the
  // journal.
  const end = await operator.sessions.open({ clientName: 'baton demo: end marker' });
  await operator.sessions.close(end.id);
  const events = await replayJournal(
    operator,
    before,
    ({ type, entityId }) => type === 'session.closed' && entityId === end.id,
  );
  return {
    workspace: participants.workspace.slug,
    plan,
    agents,
    importSeconds,
    drainSeconds,
    replaySeconds: secondsSince(replayStartedMs),
    totalSeconds: secondsSince(startedMs),
    exchanges: participants.exchanges(),
    tally,
    proof: proveJournal({
      ...imported,
      events,
      debuggerIds: participants.debuggerIds,
      reviewerId: participants.reviewer.principalId,
    }),
  };
}

function describe(tally: Tally, rate: ClaimRate): string {
  const latest = tally.claimMs.slice(-latencyWindowClaims);
  const [p50, p99] = [50, 99].map((percent) => Math.round(percentile(latest, percent)));
  const parts = [
    `${rate.perSecond()} claims/s`,
    `p50 ${p50} p99 ${p99} ms`,
    `${total(tally.conflicts)} conflicts`,
  ];
  if (tally.killed > 0) parts.push(`${tally.killed} killed`, `${total(tally.stalledRefused)} refused`);
  return parts.join('  ');
}

function secondsSince(ms: number): number {
  return (performance.now() - ms) / 1000;
}
