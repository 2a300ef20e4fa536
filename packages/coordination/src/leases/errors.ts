import { type ErrorTable, type Fail, refuse } from '@baton/kernel/refusal';
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
  session_expired: conflict('The lease of the session is over.'),
  invalid_ttl: invalid('ttlSeconds is outside of its bounds.'),
  ...lowerErrors,
} as const satisfies ErrorTable;

export type ErrorCode = keyof typeof errors;

/** Refuses the request with one of these codes; `reason` goes to the log only. */
export const fail: Fail<ErrorCode> = refuse;
