import { conflict, errorRow, invalid } from '@baton/kernel/http/error-rows';
import { type ErrorTable, type Fail, refuse } from '@baton/kernel/http/refusal';
import { errors as lowerErrors } from '../processes/errors.ts';

/** The codes of this layer and of those below it. */
export const errors = {
  unknown_object: invalid(
    'The tenant has no object of this kind and key.',
    'Create the objects in `details.unknown` before you record the package.',
  ),
  plan_stale: conflict(
    'The tenant has changed since the plan was made.',
    'Plan again with `POST /packages:plan`, review the changes, and apply with the new `planHash`.',
  ),
  migration_required: invalid(
    'Instances run a version of a process that the new version cannot continue, and the package declares no migration for them.',
    'Declare a migration for each process in `details.migrations`, or let those instances end first.',
  ),
  calendar_retired: conflict(
    'A person or another package retired the calendar.',
    'Remove the calendar from the package, or publish it by hand first if it should be active again.',
  ),
  invalid_package: invalid(
    'The package has problems.',
    'Correct each entry of `details.problems`; it has the file, the line and often a hint. `POST /packages:plan` checks a package without applying it.',
  ),
  undeclared_filter: invalid(
    'The query has a filter that the block of the view does not declare.',
    'Use one of `details.declared`, or declare the filter in the view.',
    {
      refused: 'POST /views/{key}:query {"block":0,"filter":[{"field":"title","op":"eq","value":"Ship it"}]}',
      right: 'POST /views/{key}:query {"block":0,"filter":[{"field":"status","op":"eq","value":"open"}]}',
    },
  ),
  undeclared_sort: invalid(
    'The query has a sort order that the block of the view does not declare.',
    'Sort by one of `details.declared`, or declare the order in the view.',
  ),
  workspace_required: invalid(
    'The block of the view requires a workspace, and the query has none.',
    'Send `workspaceId`.',
    {
      refused: 'POST /views/{key}:query {"block":0}',
      right: 'POST /views/{key}:query {"block":0,"workspaceId":"<workspaceId>"}',
    },
  ),
  view_too_costly: conflict(
    'The query would read more than 20,000 rows, or take longer than a list is allowed to.',
    'Add a filter that matches fewer objects, for instance a workspace or a status.',
  ),
  not_implemented: errorRow(
    501,
    'Views cannot read the source of this block yet.',
    'Leave the block out, and query memory with `POST /knowledge/entities:query`.',
  ),
  ...lowerErrors,
} as const satisfies ErrorTable;

export type ErrorCode = keyof typeof errors;

/** Refuses the request with one of these codes; `reason` goes to the log only. */
export const fail: Fail<ErrorCode> = refuse;
