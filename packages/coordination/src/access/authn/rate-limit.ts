import { fail } from '../errors.ts';
import type { Settings } from '../settings.ts';

const principalsMax = 10_000;

/** A token bucket per principal in this process: it fills at the rate and holds the burst. */
export interface RateLimit {
  /** @throws Refusal 429 `rate_limited` with Retry-After */
  take(principalId: string): void;
}

/** Switched off, as it is by default, it costs nothing. */
export function createRateLimit(settings: Settings): RateLimit {
  const { CP_RATE_LIMIT_PER_PRINCIPAL_RPS: rate, CP_RATE_LIMIT_PER_PRINCIPAL_BURST: burst } = settings;
  if (rate === 0) return { take: () => undefined };
  const full = burst === 0 ? rate : burst;
  const buckets = new Map<string, { left: number; atMs: number }>();
  return {
    take(principalId) {
      const nowMs = performance.now();
      const bucket = buckets.get(principalId) ?? { left: full, atMs: nowMs };
      bucket.left = Math.min(full, bucket.left + ((nowMs - bucket.atMs) / 1000) * rate);
      bucket.atMs = nowMs;
      // Moved to the end, so that the principal that was idle longest is dropped first.
      buckets.delete(principalId);
      if (buckets.size >= principalsMax) buckets.delete(buckets.keys().next().value as string);
      buckets.set(principalId, bucket);
      if (bucket.left >= 1) {
        bucket.left -= 1;
        return;
      }
      const retryAfterSeconds = Math.max(1, Math.ceil((1 - bucket.left) / rate));
      fail('rate_limited', { retryAfterSeconds }, { headers: { 'retry-after': String(retryAfterSeconds) } });
    },
  };
}
