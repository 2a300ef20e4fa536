import { conflict, invalid, unavailable } from '@baton/kernel/http/error-rows';
import { type ErrorTable, type Fail, refuse } from '@baton/kernel/http/refusal';
import { errors as lowerErrors } from '../rules/errors.ts';

/** The codes of this layer and of those below it. */
export const errors = {
  process_retired: conflict(
    'The process is retired and starts no new instances.',
    'Start its successor, or publish the process again to reactivate it.',
  ),
  invalid_process_data: invalid(
    'The data does not match the schema of the process.',
    'Correct each entry of `details.errors`; `GET /process-definitions/{key}` returns the schema.',
  ),
  process_instance_exists: conflict(
    'An instance of the process with this key has not ended.',
    'Use the instance `details.instanceId`, or start another one under a different key.',
  ),
  process_definition_unusable: conflict(
    "The process's agent is not linked to an identity (PUT /agents/{key}/identity), or cannot act.",
    'Link the agent `details.agent` to an identity, or enable it, then start the instance again.',
  ),
  catalog_key_busy: unavailable(
    'Another request is starting an instance with this key.',
    'Retry after a second; if the other request succeeds, you get `process_instance_exists` with its id.',
  ),
  invalid_process_instance_state: conflict(
    'The current status of the instance does not allow this operation.',
    'Read the instance: only a suspended one can be resumed, only a running one suspended or skipped, and an ended one cannot be changed. `details.status` is its status.',
  ),
  invalid_process: invalid(
    'The definition of the process has problems.',
    'Correct each entry of `details.problems`; each has a code and a path.',
  ),
  process_version_conflict: conflict(
    'This version of the process exists with different content, or its number is not higher than the latest.',
    'Publish the change under the next version number.',
  ),
  ...lowerErrors,
} as const satisfies ErrorTable;

export type ErrorCode = keyof typeof errors;

/** Refuses the request with one of these codes; `reason` goes to the log only. */
export const fail: Fail<ErrorCode> = refuse;
