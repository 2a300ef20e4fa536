import { type BatonClient, BatonError, type Task } from '@baton/sdk';

/** The part of a task type's retry policy that a runner applies. */
export interface RetryPolicy {
  /** Whether the service ends the attempts, after a number of them or for certain reasons. */
  readonly limitsAttempts: boolean;
  /** The minimum delay after an attempt, in seconds; attempts count from 1. */
  pauseSeconds(attempt: number): number;
}

const firstPauseSeconds = 60;
const pauseSecondsMax = 3_600;

/** The policy for a type that was published before types had a retry policy: the defaults of new types. */
const ofOldType: RetryPolicy = {
  limitsAttempts: false,
  pauseSeconds: (attempt) => Math.min(firstPauseSeconds * 2 ** Math.min(attempt - 1, 10), pauseSecondsMax),
};
const noPause = () => 0;

/** Reads the policy of a task's type. If it can't be read, the service's own delay applies. */
export async function readRetryPolicy(baton: BatonClient, { typeId }: Task): Promise<RetryPolicy> {
  try {
    const { execution } = await baton.taskTypes.get(typeId);
    const retry = execution?.['retry'] as { maxAttempts?: number; retryOn?: readonly string[] } | undefined;
    if (retry == null) return ofOldType;
    const limitsAttempts = retry.maxAttempts != null || retry.retryOn != null;
    return { limitsAttempts, pauseSeconds: noPause };
  } catch (error) {
    if (!(error instanceof BatonError)) throw error;
    return { limitsAttempts: false, pauseSeconds: noPause };
  }
}
