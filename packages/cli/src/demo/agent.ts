import { setTimeout as sleep } from 'node:timers/promises';
import { BatonError } from '@baton/sdk';
import type { CoordinationClient } from '../coordination-client.ts';
import type { Claim, Run, Task } from '../wire.ts';
import type { KillPoint } from './kill-plan.ts';
import type { Participant } from './participants.ts';
import { actionsMax, typeKey } from './specialties.ts';
import { count, type Tally } from './tally.ts';
import { WorkFinder } from './work-finder.ts';

/** What the agents share while they drain a backlog. */
export interface Drain {
  readonly queueId: string;
  readonly agentCount: number;
  readonly leaseSeconds: number;
  readonly workMs: number;
  /** By the number of the claim, counted over all agents. */
  readonly kills: ReadonlyMap<number, KillPoint>;
  readonly tally: Tally;
  /** Whether the service has no unfinished task left; asks it a few times a second at most. */
  isOver(): Promise<boolean>;
}

/** A killed agent, whose lease is still live; when it resumes it still believes that it may write. */
export interface StalledWriter {
  readonly client: CoordinationClient;
  readonly claim: Claim;
  /** Undefined when it was killed before it started a run. */
  readonly runId: string | undefined;
}

const backOffMsMin = 20;
const backOffMsMax = 500;

/**
 * Runs an agent: opens a session, then claims and does one task after another.
 * @returns when no work is left, the session was lost, or the agent was killed (a `StalledWriter`)
 */
export async function runAgent(
  participant: Participant,
  agentIndex: number,
  drain: Drain,
): Promise<StalledWriter | 'session lost' | 'no work left'> {
  const { client } = participant;
  const session = await openSession(participant, drain.leaseSeconds);
  const heartbeats = setInterval(() => sendHeartbeat(client, `/sessions/${session.id}`), heartbeatMs(drain));
  const finder = new WorkFinder(client, drain.queueId, agentIndex, drain.agentCount);
  try {
    for (let idleRounds = 0; ; ) {
      const task = await finder.next();
      if (task === undefined) {
        if (await drain.isOver()) break;
        await backOff(idleRounds);
        idleRounds += 1;
        continue;
      }
      idleRounds = 0;
      const end = await handleTask(client, session.id, task, drain);
      if (end !== undefined) return end;
    }
  } finally {
    clearInterval(heartbeats);
  }
  await client.call('POST', `/sessions/${session.id}:close`, {});
  return 'no work left';
}

/** @returns undefined to continue with the next task, else why the agent ends */
async function handleTask(client: CoordinationClient, sessionId: string, task: Task, drain: Drain) {
  const { tally, kills } = drain;
  const claim = await resultOrConflict(tally, () => takeClaim(client, sessionId, task, drain));
  if (typeof claim === 'string') return claim.startsWith('session_') ? 'session lost' : undefined;
  const killPoint = kills.get(tally.claims);
  if (killPoint !== undefined) tally.killed += 1;
  if (killPoint === 'claimed') return { client, claim, runId: undefined };
  const { id: claimId, fencingToken } = claim;
  const run = await resultOrConflict(tally, () =>
    client.call<Run>('POST', `/tasks/${task.id}:start-run`, {
      claimId,
      fencingToken,
      ...(task.typeKey === typeKey && { maxActions: actionsMax }),
    }),
  );
  if (typeof run === 'string') return undefined;
  if (task.typeKey === typeKey) {
    const lost = await resultOrConflict(tally, () => recordProgress(client, run, tally));
    if (typeof lost === 'string') return undefined;
  }
  await doWork(client, claim, drain);
  if (killPoint === 'running') return { client, claim, runId: run.id };
  if (killPoint === 'reporting') {
    await succeedWithoutResponse(client, run);
    return { client, claim, runId: run.id };
  }
  const answer = await resultOrConflict(tally, () =>
    client.call<object>('POST', `/runs/${run.id}:succeed`, {}),
  );
  if (typeof answer !== 'string') tally.tasksDone += 1;
  return undefined;
}

async function takeClaim(client: CoordinationClient, sessionId: string, task: Task, drain: Drain) {
  const { leaseSeconds: ttlSeconds, tally } = drain;
  const startedMs = performance.now();
  const claim = await client.call<Claim>('POST', `/tasks/${task.id}:claim`, { sessionId, ttlSeconds });
  tally.claimMs.push(performance.now() - startedMs);
  tally.claims += 1;
  return claim;
}

/** A checkpoint, as many actions as the budget allows, and one more, which must be refused. */
async function recordProgress(client: CoordinationClient, { id }: Run, tally: Tally): Promise<object> {
  await client.call('POST', `/runs/${id}/checkpoints`, { kind: 'demo', data: { step: 1 } });
  for (let n = 1; n <= actionsMax; n += 1)
    await client.call('POST', `/runs/${id}/actions`, { action: `step ${n}` });
  try {
    await client.call('POST', `/runs/${id}/actions`, { action: 'one too many' });
    tally.budgetsExceeded += 1;
  } catch (error) {
    if (!(error instanceof BatonError) || error.code !== 'budget_exceeded') throw error;
    tally.budgetsRefused += 1;
  }
  return {};
}

/** The response, or the code of a conflict: another agent was faster, or a lease has expired. */
async function resultOrConflict<Result extends object>(
  tally: Tally,
  call: () => Promise<Result>,
): Promise<Result | string> {
  try {
    return await call();
  } catch (error) {
    const isConflict =
      error instanceof BatonError && (error.status === 409 || error.code === 'task_not_claimable');
    if (!isConflict) throw error;
    count(tally.conflicts, error.code);
    return error.code;
  }
}

/** The work of the demo is to wait, with heartbeats that keep the lease alive. */
async function doWork(client: CoordinationClient, claim: Claim, drain: Drain): Promise<void> {
  const everyMs = heartbeatMs(drain);
  for (let leftMs = drain.workMs * (0.5 + Math.random()); leftMs > 0; leftMs -= everyMs) {
    await sleep(Math.min(leftMs, everyMs));
    if (leftMs > everyMs) sendHeartbeat(client, `/claims/${claim.id}`);
  }
}

/** Reports success and aborts before the response, so that only the service knows whether it succeeded. */
async function succeedWithoutResponse(client: CoordinationClient, run: Run): Promise<void> {
  const kill = new AbortController();
  setTimeout(() => kill.abort(), Math.random() * 3);
  await client.call('POST', `/runs/${run.id}:succeed`, {}, { signal: kill.signal }).catch(() => undefined);
}

async function openSession({ name, client }: Participant, ttlSeconds: number): Promise<{ id: string }> {
  return await client.call('POST', '/sessions', {
    clientName: name,
    ttlSeconds,
    harness: { type: 'baton-demo', protocolVersion: '2', capabilities: ['resume'] },
  });
}

/** A failed heartbeat is ignored: the next claim or write is refused if the lease has expired. */
function sendHeartbeat(client: CoordinationClient, path: string): void {
  client.call('POST', `${path}:heartbeat`, {}).catch(() => undefined);
}

function heartbeatMs({ leaseSeconds }: Drain): number {
  return (leaseSeconds * 1000) / 3;
}

/** Waits 20 ms, doubling up to 500 ms, times 0.5 to 1.5 at random, so that the agents don't retry in step. */
async function backOff(idleRounds: number): Promise<void> {
  const ms = Math.min(backOffMsMin * 2 ** idleRounds, backOffMsMax);
  await sleep(ms * (0.5 + Math.random()));
}
