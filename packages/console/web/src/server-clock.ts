/** Milliseconds by which Baton's clock is ahead of this browser's. */
let aheadMs = 0;

/** The `Date` of an answer counts whole seconds, and the way takes time: less than this is no difference. */
const toleratedMs = 2_000;

/**
 * Compares the clocks, each time the page gets an access token.
 * @param date the header of an answer that came just now
 */
export function setServerClock(date: string | null): void {
  const differenceMs = Date.parse(date ?? '') - Date.now();
  if (!Number.isNaN(differenceMs)) aheadMs = Math.abs(differenceMs) < toleratedMs ? 0 : differenceMs;
}

/** The time by Baton's clock, whatever this browser's says: leases are judged by it. */
export function serverNow(): number {
  return Date.now() + aheadMs;
}
