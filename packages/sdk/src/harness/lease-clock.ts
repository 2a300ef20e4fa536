/**
 * Determines by this machine's clocks whether a lease may have expired. The service grants the lease after the request
 * was sent, so it lasts at least until the moment of sending plus its length. The clock that has advanced further is
 * used, because the monotonic clock stops while a laptop sleeps, and the wall clock may be set back.
 */
export class LeaseClock {
  #lengthMs: number;
  #monotonicMs = 0;
  #wallMs = 0;

  /** @param lengthMs the length of the lease */
  constructor(lengthMs: number) {
    this.#lengthMs = lengthMs;
    this.restart(LeaseClock.now());
  }

  /** The current moment. Read it before sending the request that takes or extends the lease. */
  static now(): Moment {
    return { monotonicMs: performance.now(), wallMs: Date.now() };
  }

  /**
   * Records that the service granted the lease to a request sent at this moment.
   * @param lengthMs the length that it granted, by default the length granted last
   */
  restart(sentAt: Moment, lengthMs = this.#lengthMs): void {
    this.#lengthMs = lengthMs;
    this.#monotonicMs = sentAt.monotonicMs;
    this.#wallMs = sentAt.wallMs;
  }

  /** Milliseconds for which the lease certainly lasts; 0 or less if it may have expired. */
  leftMs(): number {
    const now = LeaseClock.now();
    return this.#lengthMs - Math.max(now.monotonicMs - this.#monotonicMs, now.wallMs - this.#wallMs);
  }
}

/** One moment on both clocks. */
export interface Moment {
  readonly monotonicMs: number;
  readonly wallMs: number;
}
