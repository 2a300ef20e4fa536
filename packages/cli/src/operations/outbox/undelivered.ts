import type { UndeliveredEvent } from '@baton/sdk';

/** An event that waits for a sink, or was set aside, as one line. */
export function lineOf({ id, type, sink, attempts, lastError, nextAttemptAt }: UndeliveredEvent): string {
  const state = nextAttemptAt === null ? 'set aside' : `next ${nextAttemptAt}`;
  return `${id}  ${sink}  ${type}  ${attempts} attempts  ${state}${lastError === null ? '' : `  ${lastError}`}`;
}
