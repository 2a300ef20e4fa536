import { BatonError } from '../errors.ts';
import { sleep } from '../waiting.ts';
import { LeaseClock } from './lease-clock.ts';

export interface HeartbeatOptions {
  readonly leaseSeconds: number;
  /** When the request that asked for the lease was sent. */
  readonly grantedAt: ReturnType<typeof LeaseClock.now>;
  /** Asks the service to prolong the lease; tried once, for at most this long. */
  beat(deadlineMs: number): Promise<unknown>;
  /** Called once, when the lease is over or the service says that it is. */
  lost(reason: string, cause?: unknown): void;
}

/** After a failed beat the next one comes this soon, or when the service asks for it: it may be back. */
const againMs = 1_000;
/** A beat is given up after a third of the lease, so that one that got lost doesn't take the place of the next ones. */
const beatMsMin = 5_000;

/**
 * Keeps a lease: asks for more after a third of it, again each second when no answer comes, and says once when it is
 * lost. An event loop that stood still for longer than the lease finds that out before anything else runs on a timer.
 */
export class Heartbeat {
  readonly #options: HeartbeatOptions;
  readonly #clock: LeaseClock;
  readonly #stop = new AbortController();
  #isLost = false;

  constructor(options: HeartbeatOptions) {
    this.#options = options;
    this.#clock = new LeaseClock(options.leaseSeconds * 1000);
    this.#clock.restart(options.grantedAt);
    void this.#run();
  }

  /** Whether the lease certainly lasts at this moment. Where it may be over, `lost` was called when this returns. */
  isLive(): boolean {
    if (!this.#isLost && this.#clock.leftMs() <= 0)
      this.#lose('its time passed without an answer to a heartbeat');
    return !this.#isLost;
  }

  /** Whether the lease lasts by the clocks alone, whatever a heartbeat was answered. */
  isInTime(): boolean {
    return this.#clock.leftMs() > 0;
  }

  /** Milliseconds for which the lease certainly lasts by what is known now; 0 or less when it may be over. */
  leftMs(): number {
    return this.#isLost ? 0 : this.#clock.leftMs();
  }

  /** No more beats; the lease ends by itself or was ended. */
  stop(): void {
    this.#stop.abort();
  }

  async #run(): Promise<void> {
    const thirdMs = (this.#options.leaseSeconds * 1000) / 3;
    const { signal } = this.#stop;
    let waitMs = thirdMs;
    while (!signal.aborted) {
      const isStopped = await sleep(Math.min(waitMs, Math.max(this.#clock.leftMs(), 0)), signal).catch(
        () => true,
      );
      if (isStopped === true || !this.isLive()) return;
      waitMs = await this.#beat(thirdMs);
    }
  }

  /** @returns milliseconds until the next one */
  async #beat(thirdMs: number): Promise<number> {
    const sentAt = LeaseClock.now();
    try {
      const leftMs = this.#clock.leftMs();
      await this.#options.beat(Math.max(Math.min(leftMs, Math.max(thirdMs, beatMsMin)), 1));
      // An answer that came after the lease was given up does not bring it back.
      if (!this.#isLost) this.#clock.restart(sentAt);
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
