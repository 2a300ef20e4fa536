import type { ErrorCode } from '../errors.ts';

/** One thing that stands in the way of a claim: the code that `:claim` would answer, and its details. */
export interface ClaimObstacle {
  code: Extract<
    ErrorCode,
    | 'task_not_claimable'
    | 'not_eligible'
    | 'task_not_ready'
    | 'input_missing'
    | 'approval_required'
    | 'verification_pending'
    | 'task_not_due'
    | 'task_already_claimed'
  >;
  details: Record<string, unknown>;
}
