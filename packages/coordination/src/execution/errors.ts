import { type ErrorTable, type Fail, refuse } from '@baton/kernel/http/refusal';
import { conflict, forbidden, invalid } from '../service/error-rows.ts';
import { errors as lowerErrors } from '../work/errors.ts';

/** The error codes of this layer and of those below it: status, when a client receives the code, what to do. */
export const errors = {
  delegation_required: forbidden('No live delegation lets the caller act for that person.'),
  session_owner_mismatch: forbidden('The session belongs to another principal.'),
  run_holder_mismatch: forbidden('The run belongs to another principal.'),
  claim_expired: conflict('The lease of the claim is over.'),
  claim_not_active: conflict('The claim was released or taken over.'),
  claim_not_expired: conflict('The claim is still live, so it cannot be taken over.'),
  session_not_active: conflict('The session was closed or went stale.'),
  run_already_active: conflict('The task has a running run.'),
  run_not_active: conflict('The run has ended.'),
  invalid_harness: invalid('The harness type is malformed.'),
  unsupported_protocol_version: invalid('The harness protocol has the versions 1 and 2.'),
  run_version_conflict: conflict('The run has another version than was expected.'),
  control_message_terminal: conflict('The message was applied, rejected or superseded before.'),
  control_message_version_conflict: conflict('The message has another version than was expected.'),
  control_message_out_of_order: conflict('An earlier message of the run waits for its turn.'),
  invalid_correlation_id: invalid(
    'A correlation id has 1 to 128 letters, digits, dots, underscores, colons or hyphens.',
  ),
  invalid_cancellation_policy: invalid('The policy is cascade_cooperative or detach.'),
  invalid_child_expiry: invalid('A launch waits for 1 to 7776000 seconds.'),
  invalid_child_grant: invalid(
    'A grant names at most 100 known permissions, capabilities or skills of at most 200 characters each.',
  ),
  child_grant_exceeds_parent: invalid('The grant names what the launching run may not do itself.'),
  child_depth_exceeded: invalid('Launches are nested at most 8 deep.'),
  invalid_child_handle_ref: invalid('A child handle is named by its id or its token.'),
  invalid_child_handle_token: invalid('The token of a child handle is malformed.'),
  invalid_control_operation: invalid('The operation of a control message is unknown.'),
  invalid_control_message: invalid(
    'The message lacks its position, directive, reason or safe boundary, or has one too many.',
  ),
  invalid_control_status: invalid('A message is acknowledged as applied, rejected or superseded.'),
  unsafe_control_payload: invalid('The message holds a transcript, credentials or a path of one machine.'),
  task_not_runnable: invalid('The task is in a terminal status.'),
  invalid_budget: invalid('A budget is a positive number up to 2147483647.'),
  server_authoritative_section: invalid('The server itself fills in this section of a manifest.'),
  invalid_fallback_attempt: invalid('A fallback names a model with a higher attempt than the active one.'),
  invalid_handoff: invalid('The checkpoint of a handoff lacks its summary, or is malformed.'),
  unsafe_handoff_payload: invalid('The handoff holds a transcript, credentials or a path of one machine.'),
  invalid_checkpoint: invalid('The kind of a checkpoint has 1 to 100 characters.'),
  invalid_action: invalid(
    'The action is not a name of 1 to 200 characters, or its cost is in another currency.',
  ),
  action_already_finished: conflict('The action was finished before.'),
  budget_exceeded: conflict('The run has used up one of its budgets.'),
  run_cancel_requested: conflict('The run was asked to stop, and its executor agreed.'),
  tool_not_authorized: forbidden('The caller may not use this skill.'),
  agent_revision_required: invalid('An agent of the registry names the revision by which it works.'),
  agent_revision_mismatch: invalid('The agent revision is not one of the caller.'),
  ...lowerErrors,
} as const satisfies ErrorTable;

export type ErrorCode = keyof typeof errors;

/** Refuses the request with one of these codes. `reason` is only logged. */
export const fail: Fail<ErrorCode> = refuse;
