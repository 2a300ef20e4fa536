import { setTimeout as sleep } from 'node:timers/promises';
import { type BatonClient, BatonError, type Claim, type Lease, LeaseLostError, type Task } from '@baton/sdk';
import type { AgentProgram } from './agent-program.ts';
import type { KillPoint } from './kill-plan.ts';
import type { Participant } from './participants.ts';
import { actionsMax, typeKey } from './specialties.ts';
import { count, type Tally } from './tally.ts';

/** The state that the agents share while they drain a backlog. */
export interface Drain {
  readonly workspaceId: string;
  readonly leaseSeconds: number;
  readonly workMs: number;
  /** The kills, by the number of the claim, counted across all agents. */
  readonly kills: ReadonlyMap<number, KillPoint>;
  readonly tally: Tally;
  /** Aborted when no tasks remain. */
  readonly over: AbortSignal;
}

/** A killed agent, whose lease is still live. When it resumes, it still believes that it may write. */
export interface StalledWriter {
  readonly baton: BatonClient;
  readonly claim: Claim;
  /** Undefined if the agent was killed before it started a run. */
  readonly runId: string | undefined;
}

const idleMs = 200;

/**
 * Runs an agent's program: opens a session, then does one task after another.
 * @returns undefined if no work remains or the session was lost; a `StalledWriter` if the agent was killed
 */
export async function runAgent(
  participant: Participant,
  drain: Drain,
): Promise<StalledWriter | 'session lost' | 'no work left'> {
  const { name, baton } = participant;
  const { workspaceId, leaseSeconds, over, tally } = drain;
  const program = participant.start();
  const harness = await program.baton.harness.open({ name, type: 'baton-demo', leaseSeconds });
  let killPoint: KillPoint | undefined;
  let held: Claim | undefined;
  let runId: string | undefined;
  const claimed = ({ typeKey: type }: Task, claim: Claim) => {
    tally.claims += 1;
    tally.claimMs.push(program.lastClaimMs());
    [held, runId, killPoint] = [claim, undefined, drain.kills.get(tally.claims)];
    if (killPoint === 'claimed') program.kill();
    return type === typeKey ? { maxActions: actionsMax } : {};
  };
  try {
    const signal = AbortSignal.any([over, program.killed]);
    for await (const lease of harness.work({
      filter: { workspaceId },
      run: claimed,
      idleMs,
      signal,
    })) {
      runId = lease.run.id;
      await doTask(lease, program, drain, killPoint);
    }
  } catch (error) {
    if (!(error instanceof BatonError) || error.code !== 'session_expired') throw error;
    return 'session lost';
  } finally {
    await harness.close();
  }
  if (!program.killed.aborted || held === undefined) return 'no work left';
  tally.killed += 1;
  return { baton, claim: held, runId };
}

/** The work on one task. If the lease is lost during the work, another agent does the task. */
async function doTask(
  lease: Lease,
  program: AgentProgram,
  drain: Drain,
  killPoint: KillPoint | undefined,
): Promise<void> {
  const { tally } = drain;
  try {
    if (lease.task.typeKey === typeKey) await recordProgress(lease, program.baton, tally);
    // The demo simulates work by waiting.
    if (drain.workMs > 0)
      await sleep(drain.workMs * (0.5 + Math.random()), undefined, { signal: lease.signal });
    if (killPoint === 'reporting') await succeedWithoutAnswer(lease, program);
    else if (killPoint === 'running') program.kill();
    else {
      await lease.succeed({});
      tally.addDoneTask(lease.task.id);
    }
  } catch (error) {
    if (!lease.signal.aborted) throw error;
    const { reason } = lease.signal as { reason: unknown };
    const cause = reason instanceof LeaseLostError ? reason.cause : undefined;
    count(tally.conflicts, cause instanceof BatonError ? cause.code : 'lease_lost');
  }
}

/** Records a checkpoint, as many actions as the budget allows, and one more, which must be rejected. */
async function recordProgress(lease: Lease, baton: BatonClient, tally: Tally): Promise<void> {
  const record = (action: string) =>
    lease.write(({ signal }) => baton.runs.createAction(lease.run.id, { action }, { signal }));
  await lease.checkpoint('demo', { step: 1 });
  for (let n = 1; n <= actionsMax; n += 1) await record(`step ${n}`);
  try {
    await record('one too many');
    tally.budgetsExceeded += 1;
  } catch (error) {
    if (!(error instanceof BatonError) || error.code !== 'budget_exceeded') throw error;
    tally.budgetsRefused += 1;
  }
}

/**
 * Reports success, but the agent is killed before the response arrives, so that only the service knows whether the
 * report succeeded.
 */
async function succeedWithoutAnswer(lease: Lease, program: AgentProgram): Promise<void> {
  setTimeout(() => program.kill(), Math.random() * 3);
  await lease.succeed({}, { signal: program.killed }).catch(() => undefined);
  program.kill();
}
