import { type ErrorTable, type Fail, refuse } from '@baton/kernel/http/refusal';
import { errors as lowerErrors } from '../execution/errors.ts';
import { badRequest, conflict, forbidden, invalid, retryLater, row } from '../service/error-rows.ts';

/** The codes of this layer, and of those below it: status, when a client meets the code, what it does. */
export const errors = {
  invalid_type: invalid(
    'The type of an artifact has 1 to 200 characters, is not blank, and is none that the core alone records.',
  ),
  invalid_name: invalid('The name of an artifact has 1 to 500 characters and is not blank.'),
  invalid_artifact_content: invalid('contentRef stands alone, without uri and content.'),
  artifact_mismatch: invalid('Task, run, workspace and superseded artifact do not belong together.'),
  content_ref_not_found: invalid('There is no such upload of the caller, or it has expired.'),
  invalid_artifact_metadata: invalid("The metadata don't fit the schema of the artifact's type."),
  media_type_not_allowed: invalid("The artifact's type does not take bytes of this media type."),
  artifact_too_large: invalid("The artifact's type does not take that many bytes."),
  observation_invalid: invalid('A value of the observation is out of its bounds.'),
  content_not_found: row(404, 'Absent: the record is all there is.')('The artifact has no stored bytes.'),
  content_purged: row(410, 'Do without them.')('The bytes of the artifact were deleted.'),
  content_not_stored: conflict('The artifact has no stored bytes that could be purged.'),
  content_store_unavailable: row(
    503,
    retryLater,
  )('The store of contents is not set up, out of reach, or has lost the object.'),
  approval_already_decided: conflict('The approval was decided or cancelled.'),
  approval_subject_changed: conflict(
    'The subject has changed since the approval was requested. Read it again, show it to the decider, and send its digest as `subjectDigest`.',
  ),
  approval_precondition_failed: conflict('What must be observed before an approval was not observed.'),
  outcome_not_replayable: conflict('What the decision leads to is done, under way, or nothing.'),
  separation_of_duties_violation: forbidden('The approval excludes this principal from deciding it.'),
  invalid_approval: invalid('The approval contradicts itself, or does not fit its task.'),
  idempotency_key_reuse: conflict('The key names another call of a skill.'),
  invalid_skill_inputs: badRequest("The inputs don't fit the contract of the skill."),
  invocation_mismatch: invalid('The run is one of another task.'),
  invocation_terminal: conflict('The call has ended.'),
  stale_invocation_lease: conflict('The call is not leased to this executor by this token any more.'),
  invalid_executor_endpoint: invalid('An endpoint of an executor is a bare origin: scheme, host and port.'),
  run_owner_mismatch: forbidden("The run is another principal's."),
  run_id_required: forbidden('Inside of a run that was launched, a call names that run.'),
  skill_permission_denied: forbidden('The caller lacks permissions that the contract of the skill requires.'),
  skill_side_effect_not_authorized: forbidden('Nothing allows the effects outside that the skill has.'),
  approval_already_used: conflict('The approval has allowed a call of this version.'),
  execution_already_invoked: conflict('The run has called the skill that executes its task.'),
  ...lowerErrors,
} as const satisfies ErrorTable;

export type ErrorCode = keyof typeof errors;

/** Refuses the request with one of these codes; `reason` goes to the log only. */
export const fail: Fail<ErrorCode> = refuse;
