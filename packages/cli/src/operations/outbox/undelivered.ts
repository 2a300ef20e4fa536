/** An event that waits for a sink, or was set aside, as the service answers it. */
export interface Undelivered {
  readonly id: string;
  readonly eventId: string;
  readonly type: string;
  readonly sink: string;
  readonly attempts: number;
  readonly lastError: string | null;
  readonly nextAttemptAt: string | null;
}

export function lineOf({ id, type, sink, attempts, lastError, nextAttemptAt }: Undelivered): string {
  const state = nextAttemptAt === null ? 'set aside' : `next ${nextAttemptAt}`;
  return `${id}  ${sink}  ${type}  ${attempts} attempts  ${state}${lastError === null ? '' : `  ${lastError}`}`;
}
