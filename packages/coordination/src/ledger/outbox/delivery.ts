import type { DueEventRow } from './deliveries.sql.ts';

/** Events of one tenant that were claimed together, and are settled together. */
export interface Delivery {
  readonly rows: readonly DueEventRow[];
  /** Whether it was attempted before. */
  readonly isAgain: boolean;
  /** A worker that had claimed it before ended without a result. */
  readonly isUnsettled: boolean;
  /** Events not started by then are returned: another worker may claim them when the lock ends. */
  readonly beginUntilMs: number;
}

export function createDelivery(rows: readonly DueEventRow[], lockSeconds: number): Delivery {
  const [{ is_again: isAgain, unsettled }] = rows as [DueEventRow];
  const beginUntilMs = performance.now() + lockSeconds * 500;
  return { rows, isAgain, isUnsettled: unsettled > 0, beginUntilMs };
}

export function countEvents(deliveries: readonly Delivery[]): number {
  return deliveries.reduce((events, { rows }) => events + rows.length, 0);
}
