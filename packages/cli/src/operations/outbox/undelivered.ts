import type { UndeliveredEvent } from '@baton/sdk';

/** A pending event of a sink, or a dead letter, as one line. */
export function formatUndelivered({
  id,
  type,
  sink,
  attempts,
  lastError,
  nextAttemptAt,
}: UndeliveredEvent): string {
  const state = nextAttemptAt === null ? 'dead letter' : `next ${nextAttemptAt}`;
  return `${id}  ${sink}  ${type}  ${attempts} attempts  ${state}${lastError === null ? '' : `  ${lastError}`}`;
}
