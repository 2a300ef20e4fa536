import { type ErrorTable, type Fail, refuse } from '@baton/kernel/http/refusal';
import { errors as lowerErrors } from '../processes/errors.ts';
import { conflict, invalid, row } from '../service/error-rows.ts';

/** The codes of this layer, and of those below it: status, when a client meets the code, what it does. */
export const errors = {
  unknown_object: invalid('The tenant has no object of this kind and key.'),
  plan_stale: conflict(
    'What the plan was made for has changed since; the details name the plan as it is now.',
  ),
  migration_required: invalid(
    'Instances of a process run by a version that the new one does not follow, and its migrations do not say how.',
  ),
  calendar_retired: conflict('A person or another package retired the calendar.'),
  invalid_package: invalid('The package has problems, which the details list.'),
  undeclared_filter: invalid('The block of the view declares no such filter; `declared` are those it has.'),
  undeclared_sort: invalid('The block of the view declares no such sort; `declared` are those it has.'),
  workspace_required: invalid('The block of the view is about one workspace: `workspaceId` says which.'),
  view_too_costly: row(
    409,
    'Narrow the query by a filter.',
  )('The query would look at more than 20,000 rows, or take longer than a list may.'),
  not_implemented: row(501, 'Do without it.')('The source of the block is not read by views yet.'),
  ...lowerErrors,
} as const satisfies ErrorTable;

export type ErrorCode = keyof typeof errors;

/** Refuses the request with one of these codes; `reason` goes to the log only. */
export const fail: Fail<ErrorCode> = refuse;
