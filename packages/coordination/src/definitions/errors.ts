import { type ErrorTable, type Fail, refuse } from '@baton/kernel/http/refusal';
import { errors as lowerErrors } from '../organisation/errors.ts';
import { invalid } from '../service/error-rows.ts';

/** The codes of this layer, and of those below it: status, when a client meets the code, what it does. */
export const errors = {
  invalid_approval_schema: invalid('What the type declares about its gates is malformed.'),
  invalid_completion_schema: invalid('What the type declares about completed tasks is malformed.'),
  invalid_acceptance: invalid('An acceptance check is malformed.'),
  invalid_acceptance_spec: invalid("The spec of an acceptance check doesn't fit its kind."),
  duplicate_check_key: invalid('Two acceptance checks have the same key.'),
  invalid_evidence: invalid('A piece of evidence is malformed.'),
  duplicate_evidence: invalid('The same fact is given twice as evidence.'),
  unknown_acceptance_check: invalid('Evidence names a check that the task does not have.'),
  invalid_origin: invalid('The origin is malformed.'),
  invalid_task_execution: invalid('What executes the tasks of the type is malformed, or can not be called.'),
  invalid_context_schema: invalid('The declared context is malformed.'),
  invalid_artifact_schema: invalid('The declared inputs or outputs are malformed.'),
  unknown_artifact_type: invalid('An input or output is of a type that nobody has registered.'),
  system_task_type_required: invalid('The built-in type task keeps at least one active version.'),
  invalid_artifact_type: invalid('The artifact type is malformed.'),
  ...lowerErrors,
} as const satisfies ErrorTable;

export type ErrorCode = keyof typeof errors;

/** Refuses the request with one of these codes; `reason` goes to the log only. */
export const fail: Fail<ErrorCode> = refuse;
