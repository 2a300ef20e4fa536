import { BatonError } from '../errors.ts';
import { sleep } from '../wait.ts';
import { LeaseClock } from './lease-clock.ts';

export interface HeartbeatOptions {
  readonly leaseSeconds: number;
  /** The time at which the request for the lease was sent. */
  readonly grantedAt: ReturnType<typeof LeaseClock.now>;
  /** Requests an extension of the lease by these seconds in a single attempt that takes at most this long. */
  beat(leaseSeconds: number, deadlineMs: number): Promise<unknown>;
  /** Called once, when the lease has expired or the service reports that it has ended. */
  lost(reason: string, cause?: unknown): void;
}

/** How long to wait after a failed heartbeat, unless the service requires a different delay. */
const againMs = 1_000;
/**
 * A heartbeat times out after a third of the lease, but not before this time, so that a lost heartbeat doesn't block
 * the next ones.
 */
const beatMsMin = 5_000;

/**
 * Keeps a lease alive: requests an extension after each third of the lease, retries every second while there is no
 * response, and reports a loss once. If the event loop was blocked for longer than the lease, the loss is detected
 * before any other timer runs.
 */
export class Heartbeat {
  readonly #options: HeartbeatOptions;
  readonly #clock: LeaseClock;
  readonly #stop = new AbortController();
  #isLost = false;
  #leaseSeconds: number;
  /** Wakes the loop, which then sends a heartbeat. */
  #wake = new AbortController();

  constructor(options: HeartbeatOptions) {
    this.#options = options;
    this.#leaseSeconds = options.leaseSeconds;
    this.#clock = new LeaseClock(options.leaseSeconds * 1000);
    this.#clock.restart(options.grantedAt);
    void this.#run();
  }

  /** Whether the lease is certainly live now. If it may have expired, `lost` is called before this returns. */
  isLive(): boolean {
    if (!this.#isLost && this.#clock.leftMs() <= 0)
      this.#lose('it expired without a response to a heartbeat');
    return !this.#isLost;
  }

  /** Whether the lease is live according to the clocks alone, whatever the responses to heartbeats were. */
  isInTime(): boolean {
    return this.#clock.leftMs() > 0;
  }

  /** Milliseconds for which the lease certainly lasts; 0 or less if it may have expired. */
  leftMs(): number {
    return this.#isLost ? 0 : this.#clock.leftMs();
  }

  /** The length that is requested. */
  get leaseSeconds(): number {
    return this.#leaseSeconds;
  }

  /** Changes the length of the lease, and requests it at once. */
  setLeaseSeconds(leaseSeconds: number): void {
    if (leaseSeconds === this.#leaseSeconds) return;
    this.#leaseSeconds = leaseSeconds;
    this.#wake.abort();
  }

  /** Stops the heartbeats of a lease that has ended or should expire. */
  stop(): void {
    this.#stop.abort();
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    let waitMs = (this.#leaseSeconds * 1000) / 3;
    while (!signal.aborted) {
      const either = AbortSignal.any([signal, this.#wake.signal]);
      await sleep(Math.min(waitMs, Math.max(this.#clock.leftMs(), 0)), either).catch(() => undefined);
      if (this.#wake.signal.aborted) this.#wake = new AbortController();
      if (signal.aborted || !this.isLive()) return;
      waitMs = await this.#beat((this.#leaseSeconds * 1000) / 3);
    }
  }

  /**
   * @returns milliseconds until the next heartbeat
   */
  async #beat(thirdMs: number): Promise<number> {
    const sentAt = LeaseClock.now();
    const leaseSeconds = this.#leaseSeconds;
    try {
      const leftMs = this.#clock.leftMs();
      await this.#options.beat(leaseSeconds, Math.max(Math.min(leftMs, Math.max(thirdMs, beatMsMin)), 1));
      // A response that arrives after the loss does not restore the lease.
      if (!this.#isLost) this.#clock.restart(sentAt, leaseSeconds * 1000);
      return thirdMs;
    } catch (error) {
      const isRefused = error instanceof BatonError && [403, 404, 409].includes(error.status);
      if (isRefused) this.#lose(error.message, error);
      return Math.max(againMs, error instanceof BatonError ? (error.retryAfterMs ?? 0) : 0);
    }
  }

  #lose(reason: string, cause?: unknown): void {
    if (this.#isLost || this.#stop.signal.aborted) return;
    this.#isLost = true;
    this.#stop.abort();
    this.#options.lost(reason, cause);
  }
}
