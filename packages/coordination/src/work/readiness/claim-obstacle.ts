import type { ErrorCode } from '../errors.ts';

/** One obstacle to a claim: the code and the details of `:claim`'s refusal. */
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
