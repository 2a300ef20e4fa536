import { isUnreachable } from '@baton/kernel/database/db';
import type { JournalEvent } from '../../ledger/journal/event.ts';
import { SinkAway, SinkPostponed, SinkRefused, SinkUnfinished } from '../../ledger/sinks/sink.ts';
import {
  attemptTarget,
  type Target,
  type TargetResult,
  type TargetTools,
  unknownMax,
} from './attempt-target.ts';
import { allowOneMore, findProgress, type ProgressRow } from './deliveries.sql.ts';

type Waits = Extract<TargetResult, { kind: 'waits' }>;

/**
 * Sends the messages of an event one after another, so that an event with many recipients uses one connection. Each
 * recipient has their own attempts and pauses; those who were tried least come first, so that none waits behind others
 * who can't be reached. What was sent is recorded per recipient, and isn't sent again.
 * @throws SinkAway, SinkRefused, SinkUnfinished, SinkPostponed: see `Sink`
 */
export async function deliverTargets(
  tools: TargetTools,
  { id: eventId, tenantId }: JournalEvent,
  targets: readonly Target[],
  signal: AbortSignal,
): Promise<void> {
  if (targets.length === 0) return;
  const { pool, channel, beginMsMax } = tools;
  const beganAt = performance.now();
  const rows = await pool.rows(findProgress({ tenantId, eventId, channel }, targets));
  const results: TargetResult[] = [];
  for (const { target, progress } of unsettled(targets, rows)) {
    if (results.length > 0 && performance.now() - beganAt > beginMsMax)
      throw new SinkUnfinished('the other recipients follow');
    const result = await attemptTarget(tools, { tenantId, eventId }, target, progress, signal);
    if (result.kind === 'away') throw new SinkAway(result.reason, { blame: result.blame });
    results.push(result);
  }
  const waiting = results.filter((result) => result.kind === 'waits');
  const [first] = waiting;
  if (first !== undefined) throw postponed(first, waiting, results);
  const refused = results.find((result) => result.kind === 'refused');
  if (refused === undefined) return;
  await pool.run(allowOneMore(tenantId, eventId, channel, unknownMax));
  throw new SinkRefused(refused.reason);
}

/** Those to whom something is still to be sent, the least tried first. */
function unsettled(
  targets: readonly Target[],
  rows: readonly ProgressRow[],
): { target: Target; progress: ProgressRow }[] {
  const byId = new Map(rows.map((row) => [row.id, row]));
  return targets
    .flatMap((target) => {
      const progress = byId.get(target.recipientId);
      return progress === undefined || progress.is_settled ? [] : [{ target, progress }];
    })
    .toSorted((one, other) => one.progress.attempts - other.progress.attempts);
}

/** Postpones the event until the first of the waiting recipients is tried again. */
function postponed(first: Waits, waiting: readonly Waits[], results: readonly TargetResult[]): SinkPostponed {
  const attempted = waiting.filter(({ isAttempt }) => isAttempt);
  const isUp =
    results.some((result) => result.kind === 'done' && result.isSent) ||
    attempted.some(({ shows }) => shows === 'up');
  const isUnclear = attempted.some(({ shows }) => shows === 'unclear');
  return new SinkPostponed((attempted[0] ?? first).reason, {
    waitMs: Math.min(...waiting.map(({ waitMs }) => waitMs)),
    isAttempt: attempted.length > 0,
    shows: isUp ? 'up' : isUnclear ? 'unclear' : 'nothing',
  });
}

/** While the database is unavailable, no event is at fault. */
export async function pausingWithoutDatabase(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (isUnreachable(error)) throw new SinkAway('the database is unavailable', { cause: error });
    throw error;
  }
}
