import { type ErrorTable, type Fail, refuse } from '@baton/kernel/http/refusal';
import { errors as lowerErrors } from '../rules/errors.ts';
import { conflict, invalid, retryLater, row } from '../service/error-rows.ts';

/** The codes of this layer, and of those below it: status, when a client meets the code, what it does. */
export const errors = {
  process_retired: conflict('The process was retired: none of its instances is started any more.'),
  invalid_process_data: invalid('The data do not fit the schema of the process.'),
  process_instance_exists: conflict('An instance of the process with this key has not ended.'),
  process_definition_unusable: conflict(
    'The agent of the process is not linked to an identity (PUT /agents/{key}/identity), or can not act.',
  ),
  catalog_key_busy: row(503, retryLater)('Somebody else is starting an instance with this key right now.'),
  invalid_process_instance_state: conflict('The state of the instance does not allow it.'),
  invalid_process: invalid('The definition of the process has problems, which the details list.'),
  process_version_conflict: conflict(
    'This version of the process is there with other content, or its number is not above the latest.',
  ),
  ...lowerErrors,
} as const satisfies ErrorTable;

export type ErrorCode = keyof typeof errors;

/** Refuses the request with one of these codes; `reason` goes to the log only. */
export const fail: Fail<ErrorCode> = refuse;
