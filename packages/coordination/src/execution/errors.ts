import { conflict, forbidden, invalid } from '@baton/kernel/http/error-rows';
import { type ErrorTable, type Fail, refuse } from '@baton/kernel/http/refusal';
import { errors as lowerErrors } from '../work/errors.ts';

/** The error codes of this layer and of those below it: status, when a client receives the code, what to do. */
export const errors = {
  delegation_required: forbidden(
    'The caller has no active delegation from that person.',
    'Have the person create a delegation to the agent (`POST /delegations`), or open the session without `onBehalfOf`.',
  ),
  session_owner_mismatch: forbidden(
    'The session belongs to another principal.',
    'Open a session with the credential that makes the call.',
  ),
  run_holder_mismatch: forbidden(
    'The run belongs to another principal.',
    "Call as the principal that started the run. To stop another principal's run, use `POST /runs/{id}:request-cancel`.",
  ),
  claim_expired: conflict(
    'The lease of the claim has expired.',
    'Stop working on the task, then claim it again. Send heartbeats at about a third of the lease.',
  ),
  claim_not_active: conflict(
    'The claim was released or taken over.',
    'Stop working on the task. Claim the task again to continue. `details.status` is the final status of the claim.',
  ),
  claim_not_expired: conflict(
    'The claim is still active, so it cannot be taken over.',
    'Wait until `details.expiresAt`, or have its holder release it.',
  ),
  session_not_active: conflict(
    'The session is closed or stale.',
    'Open a new session. `details.status` is the final status of the old one.',
  ),
  run_already_active: conflict(
    'The task already has a running run.',
    'Continue or end the run `details.runId` before you start another.',
  ),
  run_not_active: conflict(
    'The run has ended.',
    "Discard the run's pending writes, and read the run for its outcome. Further work needs a new run.",
  ),
  invalid_harness: invalid(
    'The harness type is malformed.',
    'Send 1 to 100 lower-case letters, digits, dots, underscores and hyphens; the first is a letter or digit.',
    {
      refused: 'POST /sessions {"clientName":"ci","harness":{"type":"Claude Code"}}',
      right: 'POST /sessions {"clientName":"ci","harness":{"type":"claude-code"}}',
    },
  ),
  unsupported_protocol_version: invalid(
    'The service does not support this version of the harness protocol.',
    'Send one of `details.supported`.',
    {
      refused: 'POST /sessions {"clientName":"ci","harness":{"type":"ci","protocolVersion":"3"}}',
      right: 'POST /sessions {"clientName":"ci","harness":{"type":"ci","protocolVersion":"2"}}',
    },
  ),
  run_version_conflict: conflict(
    'The run has changed: its version is not the expected one.',
    'Read the run, check that the message still makes sense, and send it with `details.currentVersion`.',
  ),
  control_message_terminal: conflict(
    'The message was already applied, rejected or superseded.',
    'Do nothing: the message is resolved. `details.status` is its outcome.',
  ),
  control_message_version_conflict: conflict(
    'The message has changed: its version is not the expected one.',
    'Read the messages of the run, and acknowledge with `details.currentVersion`.',
  ),
  control_message_out_of_order: conflict(
    'An earlier message of the run has not been acknowledged.',
    'Acknowledge `details.earliestAcceptedId` first; messages are handled in order.',
  ),
  invalid_correlation_id: invalid(
    'The correlation id does not consist of 1 to 128 letters, digits, dots, underscores, colons or hyphens.',
    'Send an id of your choice that identifies the launch within the run.',
    {
      refused:
        'POST /runs/{id}/child-handles {"correlationId":"write tests","title":"Write tests"}\nIdempotency-Key: launch-1',
      right:
        'POST /runs/{id}/child-handles {"correlationId":"write-tests","title":"Write tests"}\nIdempotency-Key: launch-1',
    },
  ),
  invalid_cancellation_policy: invalid(
    'The cancellation policy is unknown.',
    'Send `cascade_cooperative` to stop the child with its parent, or `detach` to let it finish.',
    {
      refused:
        'POST /runs/{id}/child-handles {"correlationId":"tests","title":"Write tests","cancellationPolicy":"cascade"}\nIdempotency-Key: launch-1',
      right:
        'POST /runs/{id}/child-handles {"correlationId":"tests","title":"Write tests","cancellationPolicy":"cascade_cooperative"}\nIdempotency-Key: launch-1',
    },
  ),
  invalid_child_expiry: invalid(
    'The expiry of the launch is out of range.',
    'Send 1 to 7,776,000 seconds (90 days) as `expiresInSeconds`.',
    {
      refused:
        'POST /runs/{id}/child-handles {"correlationId":"tests","title":"Write tests","expiresInSeconds":0}\nIdempotency-Key: launch-1',
      right:
        'POST /runs/{id}/child-handles {"correlationId":"tests","title":"Write tests","expiresInSeconds":3600}\nIdempotency-Key: launch-1',
    },
  ),
  invalid_child_grant: invalid(
    'The grant has too many entries, an entry is too long, or a permission is unknown.',
    'Correct `details.field`: at most 100 entries of at most 200 characters, and only known permissions.',
    {
      refused:
        'POST /runs/{id}/child-handles {"correlationId":"tests","title":"Write tests","grant":{"permissions":["tasks.*"]}}\nIdempotency-Key: launch-1',
      right:
        'POST /runs/{id}/child-handles {"correlationId":"tests","title":"Write tests","grant":{"permissions":["tasks.claim","tasks.write"]}}\nIdempotency-Key: launch-1',
    },
  ),
  child_grant_exceeds_parent: invalid(
    'The grant exceeds the rights of the launching run.',
    'Remove `details.excess` from the grant.',
  ),
  child_depth_exceeded: invalid(
    'Launches are nested more than 8 deep.',
    'Do the work in this run, or create a task without a launch.',
  ),
  invalid_child_handle_ref: invalid(
    'The reference to the child handle is neither an id nor a token.',
    'Send the `id` of the handle, or the token that its launch returned.',
  ),
  invalid_child_handle_token: invalid(
    'The token of the child handle is malformed.',
    'Copy the token of the launch in full; it is returned only once.',
  ),
  invalid_control_operation: invalid(
    'The operation of the control message is unknown.',
    'Send `queue`, `steer`, `redirect`, `request_cancel` or `force_cancel`.',
    {
      refused:
        'POST /runs/{id}/control-messages {"operation":"stop","causalPosition":"12","expectedRunVersion":2}\nIdempotency-Key: stop-1',
      right:
        'POST /runs/{id}/control-messages {"operation":"request_cancel","causalPosition":"12","reason":"Superseded","expectedRunVersion":2}\nIdempotency-Key: stop-1',
    },
  ),
  invalid_control_message: invalid(
    'The message lacks its position, directive, reason or safe boundary, or has one that does not belong to it.',
    'Correct `details.field`. Queued, steering and redirecting messages have a directive; an applied one has a safe boundary.',
    {
      refused:
        'POST /runs/{id}/control-messages {"operation":"steer","causalPosition":"12","expectedRunVersion":2}\nIdempotency-Key: steer-1',
      right:
        'POST /runs/{id}/control-messages {"operation":"steer","causalPosition":"12","directive":"Use the new API","expectedRunVersion":2}\nIdempotency-Key: steer-1',
    },
  ),
  invalid_control_status: invalid(
    'The status of the acknowledgement is unknown.',
    'Send `applied`, `rejected` or `superseded`.',
  ),
  unsafe_control_payload: invalid(
    'The message contains a transcript, credentials or a machine-specific path.',
    'Remove it from `details.field`; describe the instruction in words.',
  ),
  task_not_runnable: invalid(
    'The task is in a terminal status.',
    "Don't start a run. Create a new task if there is further work.",
  ),
  invalid_budget: invalid(
    'A budget is not a positive number, is larger than 2147483647, or has an unknown currency.',
    'Correct `details.field`: a whole number of at least 1, and an ISO 4217 code for `currency`.',
    {
      refused: 'POST /tasks/{ref}:start-run {"claimId":"<claimId>","fencingToken":7,"maxActions":0}',
      right: 'POST /tasks/{ref}:start-run {"claimId":"<claimId>","fencingToken":7,"maxActions":200}',
    },
  ),
  server_authoritative_section: invalid(
    'The service itself fills in this section of the manifest.',
    'Leave out `details.section`.',
  ),
  invalid_fallback_attempt: invalid(
    'A fallback does not declare a model with a higher attempt than the active one.',
    'Send `model.attempt` above `details.activeAttempt`.',
  ),
  invalid_handoff: invalid(
    'The checkpoint of the handoff has no summary, or is malformed.',
    'Correct `details.field`; `checkpoint.summary` is required.',
    {
      refused: 'POST /runs/{id}:handoff {"checkpoint":{}}',
      right: 'POST /runs/{id}:handoff {"checkpoint":{"summary":"Parser done, tests missing"}}',
    },
  ),
  unsafe_handoff_payload: invalid(
    'The handoff contains a transcript, credentials or a machine-specific path.',
    'Remove the content described in `details`: the next executor runs on another machine. Refer to files by artifacts or commits.',
  ),
  invalid_checkpoint: invalid(
    'The kind of the checkpoint is blank or longer than 100 characters.',
    'Send a short name as `kind`, and the content as `data`.',
    {
      refused: 'POST /runs/{id}/checkpoints {"kind":""}',
      right: 'POST /runs/{id}/checkpoints {"kind":"tests-green","data":{"passed":42}}',
    },
  ),
  invalid_action: invalid(
    'The name of the action is blank or longer than 200 characters, or its cost has an unknown or wrong currency.',
    'Correct `details.field`. A run has one currency: that of its budget, or of its first cost.',
    {
      refused: 'POST /runs/{id}/actions {"action":"build","usage":{"costMicros":1200,"currency":"euro"}}',
      right: 'POST /runs/{id}/actions {"action":"build","usage":{"costMicros":1200,"currency":"EUR"}}',
    },
  ),
  action_already_finished: conflict(
    'The action is already finished.',
    'Do nothing if `details.status` is the outcome that you report; otherwise record a new action.',
  ),
  budget_exceeded: conflict(
    'The run has used up one of its budgets.',
    'End the run with `:fail` or `:suspend`; a new run can have a larger budget. `details.budget` is the exhausted one.',
  ),
  run_cancel_requested: conflict(
    'The executor has accepted a request to cancel the run.',
    "Don't start new actions; end the run with `:cancel`.",
  ),
  tool_not_authorized: forbidden(
    'The caller may not use this skill.',
    'Have an administrator assign the skill to the principal, or allow its protocol in the governance of the project.',
  ),
  agent_revision_required: invalid(
    'A registered agent must specify the revision that it runs.',
    'Send `agentRevisionId`; `GET /agents/me` returns the current one.',
  ),
  agent_revision_mismatch: invalid(
    "The agent revision does not belong to the caller's agent.",
    'Send the id of a revision of your own agent (`GET /agents/me`).',
  ),
  ...lowerErrors,
} as const satisfies ErrorTable;

export type ErrorCode = keyof typeof errors;

/** Refuses the request with one of these codes. `reason` is only logged. */
export const fail: Fail<ErrorCode> = refuse;
