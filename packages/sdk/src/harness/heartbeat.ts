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

/** After a failed beat the next one comes this soon: the service may be back. */
const againMs = 1_000;

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

  /** Milliseconds for which the lease certainly lasts by what is known now; 0 or less when it may be over. */
  leftMs(): number {
    return this.#isLost ? 0 : this.#clock.leftMs();
  }

  /** No more beats; the lease ends by itself or was ended. */
  stop(): void {
    this.#stop.abort();
  }

  async #run(): Promise<void> {
    const { leaseSeconds } = this.#options;
    const { signal } = this.#stop;
    let waitMs = (leaseSeconds * 1000) / 3;
    while (!signal.aborted) {
      const isStopped = await sleep(Math.min(waitMs, Math.max(this.#clock.leftMs(), 0)), signal).catch(
        () => true,
      );
      if (isStopped === true || !this.isLive()) return;
      waitMs = (await this.#beat()) ? (leaseSeconds * 1000) / 3 : againMs;
    }
  }

  async #beat(): Promise<boolean> {
    const sentAt = LeaseClock.now();
    try {
      await this.#options.beat(Math.max(this.#clock.leftMs(), 1));
      // An answer that came after the lease was given up does not bring it back.
      if (!this.#isLost) this.#clock.restart(sentAt);
      return true;
    } catch (error) {
      const isRefused = error instanceof BatonError && [403, 404, 409].includes(error.status);
      if (isRefused) this.#lose(error.message, error);
      return false;
    }
  }

  #lose(reason: string, cause?: unknown): void {
    if (this.#isLost || this.#stop.signal.aborted) return;
    this.#isLost = true;
    this.#stop.abort();
    this.#options.lost(reason, cause);
  }
}
