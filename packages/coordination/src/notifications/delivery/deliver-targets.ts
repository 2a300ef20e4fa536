import type { Db, Pool } from '@baton/kernel/database/db';
import { isUnreachable } from '@baton/kernel/database/db';
import type { Logger } from '@baton/kernel/process/log';
import type { JournalEvent } from '../../ledger/journal/event.ts';
import { SinkAway, SinkRefused, SinkUnfinished } from '../../ledger/sinks/sink.ts';
import {
  allowOneMore,
  beginDelivery,
  type DeliveryOf,
  updateToSent,
  updateToUnsent,
} from './deliveries.sql.ts';
import type { Send, SendOutcome } from './send-outcome.ts';

/** One message of an event to one recipient. */
export interface Target {
  readonly recipientId: string;
  readonly kind: string;
  readonly send: Send;
  /** Runs in the transaction that records that the message was sent. */
  readonly sent?: (db: Db) => Promise<unknown>;
}

export interface TargetTools {
  readonly pool: Pool;
  readonly log: Logger;
  readonly channel: string;
  /** After this time, the delivery of an event doesn't begin to send further messages. */
  readonly beginMsMax: number;
  readonly sendMsMax: number;
}

/** If it isn't known whether a message was sent, it is sent again at most once. */
const unknownMax = 2;
const mayHaveIt = 'the results of two attempts are unknown: the message may have been sent';

/**
 * Sends the messages of an event one after another, so that an event with many recipients uses one connection. What was
 * sent is recorded per recipient, and isn't sent again.
 * @throws SinkAway, SinkRefused, SinkUnfinished, Error: see `Sink`
 */
export async function deliverTargets(
  tools: TargetTools,
  event: JournalEvent,
  targets: readonly Target[],
  signal: AbortSignal,
): Promise<void> {
  const beganAt = performance.now();
  const outcomes: SendOutcome[] = [];
  for (const target of targets) {
    if (outcomes.length > 0 && performance.now() - beganAt > tools.beginMsMax)
      throw new SinkUnfinished('the other recipients follow');
    const outcome = await attemptTarget(tools, event, target, signal);
    if (outcome.kind === 'away') throw new SinkAway(outcome.reason, { blame: outcome.blame });
    outcomes.push(outcome);
  }
  const failed = outcomes.find(({ kind }) => kind === 'failed');
  if (failed?.kind === 'failed') throw new Error(failed.reason);
  const refused = outcomes.find(({ kind }) => kind === 'refused');
  if (refused?.kind !== 'refused') return;
  await tools.pool.run(allowOneMore(event.tenantId, event.id, tools.channel, unknownMax));
  throw new SinkRefused(refused.reason);
}

async function attemptTarget(
  { pool, log, channel, sendMsMax }: TargetTools,
  { id: eventId, tenantId }: JournalEvent,
  { recipientId, kind, send, sent }: Target,
  signal: AbortSignal,
): Promise<SendOutcome> {
  const delivery: DeliveryOf = { tenantId, eventId, recipientId, channel };
  const begun = await pool.row(beginDelivery(delivery, kind));
  if (begun === undefined) return { kind: 'sent' };
  if (begun.unknown_attempts > unknownMax) return { kind: 'refused', reason: mayHaveIt };
  const outcome = await send(AbortSignal.any([signal, AbortSignal.timeout(sendMsMax)]));
  if (outcome.kind === 'failed' && outcome.isUnknown)
    log.warn({ eventId, channel, reason: outcome.reason }, 'it is unknown whether a notification was sent');
  else if (outcome.kind === 'sent') await recordSent(pool, delivery, sent);
  else await pool.run(updateToUnsent(delivery));
  return outcome;
}

async function recordSent(pool: Pool, delivery: DeliveryOf, sent: Target['sent']): Promise<void> {
  if (sent === undefined) await pool.run(updateToSent(delivery));
  else
    await pool.transaction(async (tx) => {
      await tx.run(updateToSent(delivery));
      await sent(tx);
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
