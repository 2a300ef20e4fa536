/** Milliseconds by which Baton's clock is ahead of this browser's. */
let aheadMs = 0;

/** The `Date` header has whole seconds, and a response takes time. Smaller differences are ignored. */
const toleratedMs = 2_000;

/**
 * Compares the clocks each time the page gets an access token.
 * @param date the `Date` header of a response that has just arrived
 */
export function setServerClock(date: string | null): void {
  const differenceMs = Date.parse(date ?? '') - Date.now();
  if (!Number.isNaN(differenceMs)) aheadMs = Math.abs(differenceMs) < toleratedMs ? 0 : differenceMs;
}

/** The time by Baton's clock, which decides when leases expire, whatever the browser's clock shows. */
export function serverNow(): number {
  return Date.now() + aheadMs;
}
