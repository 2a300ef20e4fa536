import type { JournalEvent } from '../journal/event.ts';

/** The events that a sink subscribes to; null for all. */
export interface SinkFilter {
  readonly tenants: readonly string[] | null;
  /** Patterns of `like`. */
  readonly typePatterns: readonly string[] | null;
}

/** A destination of events. */
export interface Sink {
  readonly name: string;
  readonly filter: SinkFilter;
  /** The maximum number of concurrent deliveries per worker. */
  readonly concurrency: number;
  /**
   * The maximum number of concurrent deliveries per tenant, for slow sinks, so that other tenants don't wait for one
   * tenant's backlog. Absent: no limit.
   */
  readonly tenantConcurrency?: number;
  /** The maximum number of events per delivery; absent: CP_OUTBOX_BATCH_SIZE. */
  readonly eventsMax?: number;
  /** A delivery without a result within this time has failed. */
  readonly timeoutMs: number;
  /**
   * Delivers one event, at least once: repeats have the same id.
   * @param signal aborts when the delivery has ended, either with a result or by timeout, which counts as a failure
   * @throws SinkAway when the event isn't at fault, SinkRefused when a repetition is useless, SinkUnfinished when the
   * rest of the event is to be delivered by another call, SinkPostponed when it is to be delivered later; any other
   * error when the delivery of this event has failed
   */
  deliver(event: JournalEvent, signal: AbortSignal): Promise<void>;
  /** Closes its connections. */
  close(): Promise<void>;
}

/**
 * The sink is unreachable or requests a pause: the event isn't at fault, so the attempt is not counted, and the sink is
 * paused.
 */
export class SinkAway extends Error {
  /** The pause that the sink requested, if any. */
  readonly pauseMs: number | undefined;
  /**
   * `unclear`: the sink responded, so the event may still be at fault. `type`: it accepts no events of this type, so
   * other types need not wait. Both count as attempts if other events were delivered in the meantime.
   */
  readonly blame: 'sink' | 'unclear' | 'type';

  constructor(message: string, { pauseMs, blame = 'sink', cause }: Partial<SinkAway> = {}) {
    super(message, { cause });
    this.name = 'SinkAway';
    this.pauseMs = pauseMs;
    this.blame = blame;
  }
}

/** Retrying the delivery can't succeed: the event becomes a dead letter at once. */
export class SinkRefused extends Error {
  override readonly name = 'SinkRefused';
}

/** Part of the event was delivered, and the rest must be delivered by another call; no attempt is counted. */
export class SinkUnfinished extends Error {
  override readonly name = 'SinkUnfinished';
}

/**
 * Part of the event can be delivered only later, for a reason that concerns one recipient: neither the sink nor the
 * tenant is paused. The sink itself limits the attempts.
 */
export class SinkPostponed extends Error {
  override readonly name = 'SinkPostponed';
  readonly waitMs: number;
  /** Whether anything was attempted. */
  readonly isAttempt: boolean;
  /** What the attempts show about the sink itself: that it responds, that it may be at fault, or nothing. */
  readonly shows: 'up' | 'unclear' | 'nothing';

  constructor(
    message: string,
    { waitMs, isAttempt, shows }: Pick<SinkPostponed, 'waitMs' | 'isAttempt' | 'shows'>,
  ) {
    super(message);
    this.waitMs = waitMs;
    this.isAttempt = isAttempt;
    this.shows = shows;
  }
}

/** The code of a network failure, without the address that its message may contain, because tenants can read it. */
export function failureCodeOf(error: unknown): string {
  for (let one = error; one instanceof Error; one = one.cause) {
    const { code } = one as NodeJS.ErrnoException;
    if (typeof code === 'string' && /^[A-Z][A-Z0-9_]{1,60}$/.test(code)) return code;
  }
  return error instanceof Error ? error.name : 'unknown';
}
