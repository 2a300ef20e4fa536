import type { JobTools } from '../../service/job.ts';
import type { Context } from '../context.ts';
import type { Outcome } from './attempt-delivery.ts';
import type { Delivery } from './claim-deliveries.ts';
import { type DueEventRow, type Remainder, type Settled, settleDeliveries } from './deliveries.sql.ts';
import type { SinkRest } from './sink-rest.ts';

type Tools = Pick<JobTools<Context>, 'pool' | 'settings' | 'log'>;

interface Sent {
  readonly row: DueEventRow;
  readonly outcome: Outcome;
}

interface Finished {
  readonly settled: Settled;
  /** The message of the first failure, unless nothing was attempted. */
  readonly error: string | undefined;
  /** The network error of the first failure. */
  readonly cause: unknown;
  readonly remainders: readonly Remainder[];
}

/** The results of one sink's deliveries, until they are stored. */
export class DeliveryResults {
  readonly #sink: string;
  readonly #rest: SinkRest;
  readonly #tools: Tools;
  #finished: Finished[] = [];

  constructor(sink: string, rest: SinkRest, tools: Tools) {
    this.#sink = sink;
    this.#rest = rest;
    this.#tools = tools;
  }

  add({ rows }: Delivery, outcomes: readonly Outcome[]): void {
    const [{ place, lead, locked_until }] = rows as [DueEventRow];
    const sent = rows.map((row, n) => ({ row, outcome: outcomes[n] as Outcome }));
    const left = sent.filter(({ outcome }) => outcome.kind !== 'delivered');
    const parts = Map.groupBy(left, (one) => this.#partOf(one));
    this.#finished.push({
      settled: { place, lead, locked_until },
      error: left.flatMap(({ outcome }) =>
        'error' in outcome && isAttempted(outcome) ? [outcome.error] : [],
      )[0],
      cause: left.flatMap(({ outcome }) => ('cause' in outcome ? [outcome.cause] : []))[0],
      remainders: [...parts.values()].map((part) => this.#remainderOf(part)),
    });
  }

  /** Results are kept until this succeeds: otherwise all their events would be delivered again. */
  async store(): Promise<void> {
    const stored = [...this.#finished];
    if (stored.length === 0) return;
    const { pool, log } = this.#tools;
    const remainders = stored.flatMap((one) => one.remainders);
    const settled = stored.map((one) => one.settled);
    const dead = await pool.rows(settleDeliveries(settled, remainders));
    this.#finished = this.#finished.slice(stored.length);
    const firstError = stored.find(({ error }) => error !== undefined)?.error;
    if (firstError !== undefined)
      log.warn(
        { sink: this.#sink, deliveries: remainders.length, firstError, ...causeOf(stored) },
        'events could not be delivered',
      );
    for (const { event_sequence: sequence } of dead)
      log.error({ sink: this.#sink, sequence }, 'an event could not be delivered and became a dead letter');
  }

  /**
   * Groups the events that remain in one delivery: a failed event is on its own, because it has its own attempts, and
   * so is each refused type, because it has its own pause.
   */
  #partOf({ row, outcome }: Sent): string {
    const isAlone =
      outcome.kind === 'failed' ||
      outcome.kind === 'postponed' ||
      (outcome.kind === 'returned' && outcome.isAlone);
    if (isAlone) return `alone ${row.sequence}`;
    return this.#isOfRefusedType({ row, outcome }) ? `type ${row.type}` : '';
  }

  #isOfRefusedType({ row, outcome }: Sent): boolean {
    return (outcome.kind === 'away' && outcome.blame === 'type') || this.#rest.typeWaitMs(row) > 0;
  }

  #remainderOf(part: readonly Sent[]): Remainder {
    const [{ row, outcome }] = part as [Sent];
    const errors = part.flatMap(({ outcome }) => ('error' in outcome ? [outcome.error] : []));
    return {
      place: row.place,
      of_lead: row.lead,
      event_sequences: part.map(({ row }) => row.sequence),
      oldest_position: Math.min(...part.map(({ row }) => row.position)),
      attempts: row.attempts - 1,
      unsettled: row.unsettled,
      wait_seconds: this.#waitMs({ row, outcome }) / 1000,
      is_dead: false,
      last_error: errors[0] ?? null,
      ...(outcome.kind === 'failed' && this.#retryAfter(row.attempts - (outcome.isUnsent ? 1 : 0))),
      ...(outcome.kind === 'failed' && outcome.isFinal && { is_dead: true }),
      ...(outcome.kind === 'postponed' && postponed(row, outcome)),
    };
  }

  #waitMs({ row, outcome }: Sent): number {
    const rest = this.#rest;
    const baseMs = this.#tools.settings.CP_OUTBOX_BACKOFF_BASE_SECONDS * 1000;
    const minMs = this.#isOfRefusedType({ row, outcome }) ? baseMs : 0;
    return Math.max(rest.waitMs(), rest.tenantWaitMs(row), rest.typeWaitMs(row), minMs);
  }

  #retryAfter(attempts: number): Partial<Remainder> {
    const { settings } = this.#tools;
    const wait = settings.CP_OUTBOX_BACKOFF_BASE_SECONDS * 2 ** Math.min(attempts - 1, 30);
    return {
      attempts,
      unsettled: 0,
      wait_seconds: Math.min(settings.CP_OUTBOX_BACKOFF_MAX_SECONDS, wait),
      is_dead: attempts >= settings.CP_OUTBOX_MAX_ATTEMPTS,
    };
  }
}

function isAttempted(outcome: Outcome): boolean {
  return outcome.kind !== 'postponed' || outcome.isAttempt;
}

/** The longest wait of a postponed event; an earlier attempt of the sink costs little. */
const postponedSecondsMax = 3600;

function postponed(
  { attempts }: DueEventRow,
  { waitMs, isAttempt }: Extract<Outcome, { kind: 'postponed' }>,
): Partial<Remainder> {
  return {
    attempts: isAttempt ? attempts : attempts - 1,
    unsettled: 0,
    wait_seconds: Math.min(postponedSecondsMax, waitMs / 1000),
  };
}

function causeOf(finished: readonly Finished[]): { err?: unknown } {
  const first = finished.find(({ cause }) => cause !== undefined);
  return first === undefined ? {} : { err: first.cause };
}
