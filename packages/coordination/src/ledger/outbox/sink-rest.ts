/** Failures in a row, of different deliveries, after which a sink looks down. */
const failuresMax = 100;
const shortlyMs = 10_000;

export interface SinkRest {
  /** Milliseconds until the sink is tried again; 0 while it is not left alone. */
  waitMs(): number;
  /** Whether it is to be tried with one delivery, as after each rest until something got through. */
  readonly isTrial: boolean;
  /** Whether something got through shortly before then, by `performance.now()`, or since. */
  deliveredAround(atMs: number): boolean;
  /** @param beganAtMs a delivery that began before the rest does not end it */
  delivered(beganAtMs: number): void;
  /** A delivery failed that may be to blame itself. */
  failed(): void;
  /** The sink is away: left alone at once. */
  away(pauseMs?: number): void;
}

/**
 * When a sink is left alone: while it can't be reached, and after many failures in a row. Otherwise an hour of events would
 * use up their attempts on a sink that is down. Each rest is twice as long as the one before, until something gets through.
 */
export function createRest({ baseMs, maxMs }: { baseMs: number; maxMs: number }): SinkRest {
  let failures = 0;
  let rests = 0;
  let restsSince = Number.NEGATIVE_INFINITY;
  let restsUntil = 0;
  let deliveredAt = Number.NEGATIVE_INFINITY;
  const waitMs = () => Math.max(0, restsUntil - performance.now());
  return {
    waitMs,
    get isTrial() {
      return rests > 0;
    },
    deliveredAround: (atMs) => deliveredAt >= atMs - shortlyMs,
    delivered(beganAtMs) {
      deliveredAt = performance.now();
      failures = 0;
      if (beganAtMs < restsSince) return;
      rests = 0;
      restsUntil = 0;
    },
    failed() {
      failures += 1;
      if (failures >= failuresMax || rests > 0) rest();
    },
    away: rest,
  };

  /** Deliveries that were under way when a rest began don't begin another. */
  function rest(pauseMs?: number): void {
    if (waitMs() > 0) return;
    const usual = baseMs * 2 ** Math.min(rests, 30);
    restsSince = performance.now();
    restsUntil = restsSince + Math.min(maxMs, pauseMs ?? usual);
    rests += 1;
  }
}
