import { type ErrorTable, type Fail, refuse } from '@baton/kernel/http/refusal';
import { errors as lowerErrors } from '../definitions/errors.ts';
import { conflict, forbidden, invalid } from '../service/error-rows.ts';

/** The codes of this layer, and of those below it: status, when a client meets the code, what it does. */
export const errors = {
  task_already_claimed: conflict('Somebody else holds a live claim on the task.'),
  task_not_due: conflict(
    'The task is not offered before `availableAt`: it starts then, or is paused after a failed attempt. ' +
      '`:make-available` ends a pause.',
  ),
  task_not_ready: conflict('Tasks that this one waits for are not done.'),
  verification_pending: conflict('What was done is being verified.'),
  approval_required: conflict('A person has to decide a gate of the task first.'),
  run_in_progress: conflict('A run of the presented claim is still running.'),
  task_already_completed: conflict('The task is completed.'),
  input_missing: conflict('An artifact that the task needs is not there.'),
  acceptance_protected: forbidden(
    'Checks, requirements and relations that hold a task back are removed or changed by whoever added them or by a ' +
      'person, and by nobody who worked on the task.',
  ),
  not_eligible: forbidden('The principal does not meet what is required here.'),
  relation_exists: conflict('The relation exists.'),
  invalid_sort: invalid('sort is startDate or dueDate.'),
  invalid_search: invalid('q has at most 200 characters and 10 words.'),
  invalid_priority: invalid('The priority is unknown.'),
  invalid_requirement: invalid('A requirement is malformed.'),
  unknown_requirement: invalid('A required role, capability or skill does not exist.'),
  unknown_agent: invalid('There is no such agent in the registry.'),
  invalid_title: invalid('The title is blank.'),
  task_type_not_allowed: invalid('The workspace takes no tasks of this type.'),
  invalid_entity_type: invalid('Objects of this type have no external names.'),
  invalid_entity_reference: invalid('The id is no id of an object of this type.'),
  invalid_external_reference: invalid('A part of the external name is blank or longer than 512 characters.'),
  external_reference_conflict: conflict('Another object has this external name.'),
  invalid_desired_state: invalid('The desired state is longer than 10,000 characters.'),
  invalid_goal_status: invalid('A goal is active, achieved or abandoned.'),
  goal_cycle: invalid('A goal stands neither below itself nor below its own subgoals.'),
  goal_too_deep: invalid('A goal has at most 31 others above it.'),
  goal_abandoned: invalid('An abandoned goal takes no work.'),
  goal_workspace_mismatch: invalid('The goal belongs to another workspace.'),
  invalid_planned_dates: invalid('The due date lies before the start date.'),
  invalid_relation: invalid('A task has no relation to itself, and at most 1,000 to others.'),
  invalid_relation_type: invalid('The relation type is unknown.'),
  dependency_cycle: invalid('The relation would close a cycle.'),
  task_not_claimable: invalid('The task has ended, or is in a blocked status from which no claim starts.'),
  not_comment_author: forbidden('Only its author may change a comment.'),
  invalid_comment_body: invalid('The comment is blank.'),
  comment_mismatch: invalid('The run or the artifact belongs to another task.'),
  task_cancelled: invalid('The task was cancelled.'),
  task_terminal: conflict('The task is in a terminal status.'),
  approval_pending: conflict('Approvals of the task are not decided.'),
  incompatible_status: conflict('The status of the task is no open status of the other version; map it.'),
  invalid_migration_target: invalid('There is no such active version of the type to migrate to.'),
  invalid_status_map: invalid(
    'A mapped status is not one of the old version, or leads to none that is open in the new one.',
  ),
  ...lowerErrors,
} as const satisfies ErrorTable;

export type ErrorCode = keyof typeof errors;

/** Refuses the request with one of these codes; `reason` goes to the log only. */
export const fail: Fail<ErrorCode> = refuse;
