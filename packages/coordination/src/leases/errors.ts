import { type ErrorTable, type Fail, refuse } from '@baton/kernel/http/refusal';
import { errors as lowerErrors } from '../ledger/errors.ts';
import { conflict, forbidden, invalid, row } from '../service/error-rows.ts';

/** The codes of this layer, and of those below it: status, when a client meets the code, what it does. */
export const errors = {
  claim_holder_mismatch: forbidden('The claim belongs to another principal.'),
  stale_claim: row(
    409,
    'Stop writing and read the context again.',
  )('The claim presented no longer protects the task.'),
  task_claimed: conflict('The task is claimed: a change needs its claimId and fencingToken.'),
  child_grant_exceeded: forbidden('The run was launched with a grant that does not cover this.'),
  child_handle_revoked: conflict('The launch of the run was revoked.'),
  child_handle_expired: conflict('The launch of the run was not taken up in time.'),
  child_run_already_bound: conflict('The launched task had its run, which has ended.'),
  child_result_too_large: invalid('The result of a launched run is larger than its parent takes.'),
  unsafe_child_result: invalid(
    'The result of a launched run holds a transcript, credentials or a path of one machine.',
  ),
  session_expired: conflict('The lease of the session is over.'),
  invalid_ttl: invalid('ttlSeconds is outside of its bounds.'),
  ...lowerErrors,
} as const satisfies ErrorTable;

export type ErrorCode = keyof typeof errors;

/** Refuses the request with one of these codes; `reason` goes to the log only. */
export const fail: Fail<ErrorCode> = refuse;
