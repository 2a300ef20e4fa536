import { setTimeout as sleep } from 'node:timers/promises';
import { ApiError } from '../api-error.ts';
import type { CoordinationClient } from '../coordination-client.ts';
import type { Claim, Run, Task } from '../wire.ts';
import type { Member } from './crew.ts';
import type { Moment } from './kill-plan.ts';
import { count, type Tally } from './tally.ts';
import { WorkFinder } from './work-finder.ts';

/** What the agents of one drain share. */
export interface Workplace {
  readonly queueId: string;
  readonly seats: number;
  readonly leaseSeconds: number;
  readonly workMs: number;
  /** By number of the claim. */
  readonly kills: ReadonlyMap<number, Moment>;
  readonly tally: Tally;
  /** Asks the service whether anything is left to do, at most a few times a second. */
  isOver(): Promise<boolean>;
}

/** A killed agent: its lease lives on, and it believes it may still write. */
export interface StalledWriter {
  readonly client: CoordinationClient;
  readonly claim: Claim;
  /** Undefined when it died before it had started a run. */
  readonly runId: string | undefined;
}

const backOffMsMin = 20;
const backOffMsMax = 500;

/**
 * One life of an agent: opens a session, then takes and does one task after the other.
 * @returns when no work is left, its session is lost, or it is killed: then what is left of it
 */
export async function liveAsAgent(
  member: Member,
  seat: number,
  workplace: Workplace,
): Promise<StalledWriter | 'session lost' | 'work over'> {
  const { client } = member;
  const session = await openSession(member, workplace.leaseSeconds);
  const heart = setInterval(() => beat(client, `/sessions/${session.id}`), beatMs(workplace));
  const finder = new WorkFinder(client, workplace.queueId, seat, workplace.seats);
  try {
    for (let idleRounds = 0; ; ) {
      const task = await finder.next();
      if (task === undefined) {
        if (await workplace.isOver()) break;
        await backOff(idleRounds);
        idleRounds += 1;
        continue;
      }
      idleRounds = 0;
      const end = await handleTask(client, session.id, task, workplace);
      if (end !== undefined) return end;
    }
  } finally {
    clearInterval(heart);
  }
  await client.call('POST', `/sessions/${session.id}:close`, {});
  return 'work over';
}

/** @returns undefined to go on with the next task */
async function handleTask(client: CoordinationClient, sessionId: string, task: Task, workplace: Workplace) {
  const { tally, kills } = workplace;
  const claim = await survive(tally, () => takeClaim(client, sessionId, task, workplace));
  if (typeof claim === 'string') return claim.startsWith('session_') ? 'session lost' : undefined;
  const moment = kills.get(tally.claims);
  if (moment !== undefined) tally.killed += 1;
  if (moment === 'claimed') return { client, claim, runId: undefined };
  const { id: claimId, fencingToken } = claim;
  const run = await survive(tally, () =>
    client.call<Run>('POST', `/tasks/${task.id}:start-run`, { claimId, fencingToken }),
  );
  if (typeof run === 'string') return undefined;
  await doWork(client, claim, workplace);
  if (moment === 'running') return { client, claim, runId: run.id };
  if (moment === 'answering') {
    await succeedUnheard(client, run);
    return { client, claim, runId: run.id };
  }
  const answer = await survive(tally, () => client.call<object>('POST', `/runs/${run.id}:succeed`, {}));
  if (typeof answer !== 'string') tally.tasksDone += 1;
  return undefined;
}

async function takeClaim(client: CoordinationClient, sessionId: string, task: Task, workplace: Workplace) {
  const { leaseSeconds: ttlSeconds, tally } = workplace;
  const startedMs = performance.now();
  const claim = await client.call<Claim>('POST', `/tasks/${task.id}:claim`, { sessionId, ttlSeconds });
  tally.claimMs.push(performance.now() - startedMs);
  tally.claims += 1;
  return claim;
}

/** The answer, or the code of a refusal that only says that somebody else was faster or that time has passed. */
async function survive<Answer extends object>(
  tally: Tally,
  call: () => Promise<Answer>,
): Promise<Answer | string> {
  try {
    return await call();
  } catch (error) {
    const isConflict =
      error instanceof ApiError && (error.status === 409 || error.code === 'task_not_claimable');
    if (!isConflict) throw error;
    count(tally.conflicts, error.code);
    return error.code;
  }
}

/** The demonstration's work is to wait; the lease is kept alive meanwhile. */
async function doWork(client: CoordinationClient, claim: Claim, workplace: Workplace): Promise<void> {
  const everyMs = beatMs(workplace);
  for (let leftMs = workplace.workMs * (0.5 + Math.random()); leftMs > 0; leftMs -= everyMs) {
    await sleep(Math.min(leftMs, everyMs));
    if (leftMs > everyMs) beat(client, `/claims/${claim.id}`);
  }
}

/** Sends the report and dies before its answer: nobody but the service knows whether it arrived. */
async function succeedUnheard(client: CoordinationClient, run: Run): Promise<void> {
  const death = new AbortController();
  setTimeout(() => death.abort(), Math.random() * 3);
  await client.call('POST', `/runs/${run.id}:succeed`, {}, { signal: death.signal }).catch(() => undefined);
}

async function openSession({ name, client }: Member, ttlSeconds: number): Promise<{ id: string }> {
  return await client.call('POST', '/sessions', {
    clientName: name,
    ttlSeconds,
    harness: { type: 'baton-demo', protocolVersion: '2', capabilities: ['resume'] },
  });
}

/** A beat that fails is not an error by itself: the next claim or write says whether the lease is over. */
function beat(client: CoordinationClient, path: string): void {
  client.call('POST', `${path}:heartbeat`, {}).catch(() => undefined);
}

function beatMs({ leaseSeconds }: Workplace): number {
  return (leaseSeconds * 1000) / 3;
}

/** Doubling from 20 to 500 ms, half to one and a half of it at random, so that the agents don't come back together. */
async function backOff(idleRounds: number): Promise<void> {
  const ms = Math.min(backOffMsMin * 2 ** idleRounds, backOffMsMax);
  await sleep(ms * (0.5 + Math.random()));
}
