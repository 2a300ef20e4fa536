import type { Db, Pool } from '@baton/kernel/database/db';
import type { Logger } from '@baton/kernel/process/log';
import {
  type BegunRow,
  type Bound,
  beginDelivery,
  type DeliveryOf,
  lockCounted,
  type ProgressRow,
  updateToRefused,
  updateToSent,
  updateToUnsent,
} from './deliveries.sql.ts';
import { deletePause, type PauseLengths, upsertPause } from './pauses.sql.ts';
import type { Send, SendOutcome } from './send-outcome.ts';

/** One message of an event to one recipient. */
export interface Target {
  readonly recipientId: string;
  readonly kind: string;
  /** The digest of the address, or the name of the webhook's secret: a pause ends when it changes. */
  readonly target: string;
  /** What the bound counts: the digest of the address, which several people may share, or the recipient's id. */
  readonly countedAs: string;
  readonly bound: Bound;
  /** Whether the message is also attempted at an address that was refused before. */
  readonly isUrgent?: boolean;
  /**
   * Makes the message immediately before it is sent, from the current data.
   * @returns undefined if there is nothing to send any more
   */
  prepare(): Promise<Send | undefined>;
  /** Runs in the transaction that records that the message was sent. */
  readonly sent?: (db: Db) => Promise<unknown>;
  /** Handles a message beyond the bound, or to somebody who can't be reached. Absent: it waits. */
  readonly leaveOut?: () => Promise<void>;
}

export interface TargetTools {
  readonly pool: Pool;
  readonly log: Logger;
  readonly channel: string;
  /** After this time, the delivery of an event doesn't begin to send further messages. */
  readonly beginMsMax: number;
  readonly sendMsMax: number;
  /** Attempts to send one message to one recipient. */
  readonly attemptsMax: number;
  /** The pauses of a recipient whose server fails temporarily. */
  readonly pauses: PauseLengths;
  /** Whether one server serves all recipients, so that each attempt shows whether that server works. */
  readonly isOneServer: boolean;
}

/** The result for one recipient, as far as it matters to the event. */
export type TargetResult =
  /** Nothing is left to do for the recipient. `isSent`: the server responds. */
  | { readonly kind: 'done'; readonly isSent: boolean }
  | { readonly kind: 'refused'; readonly reason: string }
  | {
      readonly kind: 'waits';
      readonly reason: string;
      readonly waitMs: number;
      readonly isAttempt: boolean;
      readonly shows: 'up' | 'unclear' | 'nothing';
    }
  | Extract<SendOutcome, { kind: 'away' }>;

/** If it isn't known whether a message was sent, it is sent again at most once. */
export const unknownMax = 2;
const mayHaveIt = 'the results of two attempts are unknown: the message may have been sent';
const paused = 'earlier messages to the recipient failed';
const overBound = 'the recipient was sent the maximum number of messages';
/** How long a message beyond its bound waits, if it can't be left out. */
const overBoundMs = 600_000;
/** The pauses of an address or webhook that was refused for good: it is tried again, because it may work later. */
const refusedPauses: PauseLengths = { baseSeconds: 3600, maxSeconds: 86_400 };

const done: TargetResult = { kind: 'done', isSent: false };

/** Sends one message, unless the recipient is paused or was sent the maximum. The result is recorded per recipient. */
export async function attemptTarget(
  tools: TargetTools,
  event: Pick<DeliveryOf, 'tenantId' | 'eventId'>,
  target: Target,
  progress: ProgressRow,
  signal: AbortSignal,
): Promise<TargetResult> {
  const { pool, channel, sendMsMax } = tools;
  const delivery: DeliveryOf = { ...event, recipientId: target.recipientId, channel };
  if (progress.refusal !== null) return { kind: 'refused', reason: progress.refusal };
  const withheld = await withhold(tools, target, progress);
  if (withheld !== undefined) return withheld;
  const send = await target.prepare();
  if (send === undefined) return done;
  const begun = await begin(pool, delivery, target);
  if (begun.is_over) {
    if (target.leaveOut === undefined)
      return { kind: 'waits', reason: overBound, waitMs: overBoundMs, isAttempt: false, shows: 'nothing' };
    await target.leaveOut();
    return done;
  }
  if (begun.attempts === null || begun.unknown_attempts === null) return done;
  if (begun.unknown_attempts > unknownMax) return refuse(pool, delivery, mayHaveIt);
  const outcome = await send(AbortSignal.any([signal, AbortSignal.timeout(sendMsMax)]));
  return record(tools, delivery, target, { outcome, attempts: begun.attempts, progress });
}

/** A message to a paused recipient waits or is left out, without an attempt. */
async function withhold(
  { attemptsMax }: TargetTools,
  { isUrgent = false, leaveOut }: Target,
  { paused_seconds, failures, is_refused, is_begun }: ProgressRow,
): Promise<TargetResult | undefined> {
  if (paused_seconds <= 0) return undefined;
  // A redriven dead letter is sent at once.
  if (is_refused && (isUrgent || is_begun)) return undefined;
  // A message that was attempted may still become a dead letter, which an operator sees.
  const isUnreachable = !is_begun && (is_refused || failures >= attemptsMax);
  if (isUnreachable && leaveOut !== undefined) {
    await leaveOut();
    return done;
  }
  return { kind: 'waits', reason: paused, waitMs: paused_seconds * 1000, isAttempt: false, shows: 'nothing' };
}

function begin(pool: Pool, delivery: DeliveryOf, { kind, countedAs, bound }: Target): Promise<BegunRow> {
  return pool.transaction(async (tx) => {
    await tx.run(lockCounted(delivery, countedAs));
    return (await tx.row(beginDelivery(delivery, { kind, countedAs }, bound))) as BegunRow;
  });
}

interface Attempt {
  readonly outcome: SendOutcome;
  readonly attempts: number;
  readonly progress: ProgressRow;
}

async function record(
  tools: TargetTools,
  delivery: DeliveryOf,
  { target, sent }: Target,
  { outcome, attempts, progress }: Attempt,
): Promise<TargetResult> {
  const { pool, log, channel, attemptsMax, pauses, isOneServer } = tools;
  switch (outcome.kind) {
    case 'sent':
      await recordSent(pool, delivery, sent);
      if (progress.failures > 0) await pool.run(deletePause(delivery));
      return { kind: 'done', isSent: true };
    case 'away':
      await pool.run(updateToUnsent(delivery, false));
      return outcome;
    case 'refused':
      await pool.run(updateToUnsent(delivery, true));
      if (outcome.isOfRecipient) await pool.row(upsertPause(delivery, target, true, refusedPauses));
      return refuse(pool, delivery, outcome.reason);
    case 'failed': {
      const { reason, isUnknown } = outcome;
      const { eventId } = delivery;
      if (isUnknown) log.warn({ eventId, channel, reason }, 'it is unknown whether a notification was sent');
      else await pool.run(updateToUnsent(delivery, true));
      const pause = await pool.row(upsertPause(delivery, target, false, pauses));
      if (attempts >= attemptsMax) return refuse(pool, delivery, reason);
      const waitMs = Math.max(0, pause?.paused_seconds ?? 0) * 1000;
      const shows = isOneServer ? (isUnknown ? 'unclear' : 'up') : 'nothing';
      return { kind: 'waits', reason, waitMs, isAttempt: true, shows };
    }
  }
}

async function refuse(pool: Pool, delivery: DeliveryOf, reason: string): Promise<TargetResult> {
  await pool.run(updateToRefused(delivery, reason));
  return { kind: 'refused', reason };
}

async function recordSent(pool: Pool, delivery: DeliveryOf, sent: Target['sent']): Promise<void> {
  if (sent === undefined) await pool.run(updateToSent(delivery));
  else
    await pool.transaction(async (tx) => {
      await tx.run(updateToSent(delivery));
      await sent(tx);
    });
}
