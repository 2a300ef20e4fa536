import { conflict, forbidden, invalid } from '@baton/kernel/http/error-rows';
import { type ErrorTable, type Fail, refuse } from '@baton/kernel/http/refusal';
import { errors as lowerErrors } from '../ledger/errors.ts';

/** The codes of this layer and of those below it. */
export const errors = {
  claim_holder_mismatch: forbidden(
    'The claim belongs to another principal.',
    'Use a claim of your own: `GET /claims` lists them, `POST /tasks/{ref}:claim` creates one.',
  ),
  stale_claim: conflict(
    'The presented claim no longer protects the task.',
    'Stop working on the task: the lease expired or was released, and another principal may hold it. Read the task, and claim it again before you write.',
  ),
  task_claimed: conflict(
    'The task is claimed, so a change requires the claim.',
    'Send `claimId` and `fencingToken` if you hold the claim; otherwise wait until it ends (`details.expiresAt`).',
    {
      refused: 'POST /tasks/{ref}:complete {}\nIf-Match: "task-3"',
      right: 'POST /tasks/{ref}:complete {"claimId":"<claimId>","fencingToken":7}\nIf-Match: "task-3"',
    },
  ),
  child_grant_exceeded: forbidden(
    'The grant of the launched run does not cover this request.',
    'Stay within the grant. The parent run can launch another child with `details.required`.',
  ),
  child_handle_revoked: conflict(
    'The launch of the run was revoked.',
    'Stop the run. If the work is still wanted, the parent launches it again under a new `correlationId`.',
  ),
  child_handle_expired: conflict(
    'The launch of the run expired before it was used.',
    'Have the parent run launch it again, with a larger `expiresInSeconds` if the child starts late.',
  ),
  child_run_already_bound: conflict(
    'The launched task already had its run, which has ended.',
    'Read the result from the handle (`GET /child-handles/{idOrToken}`). For a further run the parent creates a new handle.',
  ),
  child_result_too_large: invalid(
    'The result of a launched run is larger than its parent accepts.',
    'Shorten `details.field` to the limit in `details`, and pass large results as artifacts.',
  ),
  unsafe_child_result: invalid(
    'The result of a launched run contains a transcript, credentials or a machine-specific path.',
    'Remove the content described in `details`; pass files as artifacts.',
  ),
  session_expired: conflict(
    'The lease of the session has expired.',
    'Open a new session. Claims of the old one were released, so claim their tasks again.',
  ),
  invalid_ttl: invalid(
    '`ttlSeconds` is out of range.',
    'Send between `details.min` and `details.max` seconds, and renew the lease with heartbeats.',
    {
      refused: 'POST /tasks/{ref}:claim {"sessionId":"<sessionId>","ttlSeconds":5}',
      right: 'POST /tasks/{ref}:claim {"sessionId":"<sessionId>","ttlSeconds":300}',
    },
  ),
  ...lowerErrors,
} as const satisfies ErrorTable;

export type ErrorCode = keyof typeof errors;

/** Refuses the request with one of these codes; `reason` goes to the log only. */
export const fail: Fail<ErrorCode> = refuse;
