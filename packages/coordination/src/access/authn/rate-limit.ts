import type { Caller } from '../../service/caller.ts';
import { fail } from '../errors.ts';
import type { Settings } from '../settings.ts';

const bucketsMax = 10_000;

/** Token buckets in this process, one per principal and one per tenant: each fills at its rate up to its burst. */
export interface RateLimit {
  /** @throws Refusal 429 `rate_limited` with Retry-After */
  take(caller: Pick<Caller, 'principalId' | 'tenantId'>): void;
}

/** Limits nothing unless limits are configured; by default, none are. */
export function createRateLimit(settings: Settings): RateLimit {
  const ofPrincipal = createBuckets(
    settings.CP_RATE_LIMIT_PER_PRINCIPAL_RPS,
    settings.CP_RATE_LIMIT_PER_PRINCIPAL_BURST,
  );
  const ofTenant = createBuckets(
    settings.CP_RATE_LIMIT_PER_TENANT_RPS,
    settings.CP_RATE_LIMIT_PER_TENANT_BURST,
  );
  return {
    take({ principalId, tenantId }) {
      // The principal's limit is checked first: a request that it refuses doesn't count against the tenant.
      ofPrincipal(principalId);
      ofTenant(tenantId);
    },
  };
}

/** Takes a token from the bucket of a key, or refuses the request. */
function createBuckets(rate: number, burst: number): (key: string) => void {
  if (rate === 0) return () => undefined;
  const full = burst === 0 ? rate : burst;
  const buckets = new Map<string, { left: number; atMs: number }>();
  return (key) => {
    const nowMs = performance.now();
    const bucket = buckets.get(key) ?? { left: full, atMs: nowMs };
    bucket.left = Math.min(full, bucket.left + ((nowMs - bucket.atMs) / 1000) * rate);
    bucket.atMs = nowMs;
    // Reinserted at the end, so that the longest-idle key is dropped first.
    buckets.delete(key);
    if (buckets.size >= bucketsMax) buckets.delete(buckets.keys().next().value as string);
    buckets.set(key, bucket);
    if (bucket.left >= 1) {
      bucket.left -= 1;
      return;
    }
    const retryAfterSeconds = Math.max(1, Math.ceil((1 - bucket.left) / rate));
    fail('rate_limited', { retryAfterSeconds }, { headers: { 'retry-after': String(retryAfterSeconds) } });
  };
}
