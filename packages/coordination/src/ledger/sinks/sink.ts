import type { JournalEvent } from '../journal/event.ts';

/** Which events a sink is for; null for all. */
export interface SinkFilter {
  readonly tenants: readonly string[] | null;
  /** Patterns of `like`. */
  readonly typePatterns: readonly string[] | null;
}

/** A place outside of the journal that events are delivered to. */
export interface Sink {
  readonly name: string;
  readonly filter: SinkFilter;
  /** Deliveries under way at most, in each worker. */
  readonly concurrency: number;
  /** A delivery that is not answered within this has failed. */
  readonly timeoutMs: number;
  /**
   * Delivers one event, at least once: repeats have the same id.
   * @param signal aborts when the delivery is over: answered, or too late, which counts as failed
   * @throws SinkAway when it was not the event that failed; any other error when the delivery of this event has failed
   */
  deliver(event: JournalEvent, signal: AbortSignal): Promise<void>;
  /** Closes its connections. */
  close(): Promise<void>;
}

/**
 * The sink can't be reached, or asks for a pause: the event is not to blame, so its attempt is not counted, and the sink is
 * left alone for a while.
 */
export class SinkAway extends Error {
  /** How long the sink wants to be left alone, where it said so. */
  readonly pauseMs: number | undefined;
  /**
   * `unclear`: it answered, so it may be this event all the same. `type`: it answered that it takes no events of this type,
   * so the others need not wait. Both are counted where other events got through meanwhile.
   */
  readonly blame: 'sink' | 'unclear' | 'type';

  constructor(message: string, { pauseMs, blame = 'sink', cause }: Partial<SinkAway> = {}) {
    super(message, { cause });
    this.name = 'SinkAway';
    this.pauseMs = pauseMs;
    this.blame = blame;
  }
}

/** What a failure of the network is called, without the address that its text may hold: tenants read it. */
export function failureCodeOf(error: unknown): string {
  for (let one = error; one instanceof Error; one = one.cause) {
    const { code } = one as NodeJS.ErrnoException;
    if (typeof code === 'string' && /^[A-Z][A-Z0-9_]{1,60}$/.test(code)) return code;
  }
  return error instanceof Error ? error.name : 'unknown';
}
