import { conflict, invalid } from '@baton/kernel/http/error-rows';
import { type ErrorTable, type Fail, refuse } from '@baton/kernel/http/refusal';
import { errors as lowerErrors } from '../notifications/errors.ts';

/** The codes of this layer and of those below it. */
export const errors = {
  already_bootstrapped: conflict(
    'This installation already has its tenant.',
    'Sign in as its administrator; bootstrapping happens once.',
  ),
  unknown_action: invalid(
    'The action does not apply to that type of resource.',
    'Send an action of the resource type; docs/reference/authorization.md#check-your-own-actions lists them.',
    {
      refused:
        'POST /authz:check {"checks":[{"action":"approve","resourceType":"run","resourceId":"<runId>"}]}',
      right: 'POST /authz:check {"checks":[{"action":"cancel","resourceType":"run","resourceId":"<runId>"}]}',
    },
  ),
  invalid_check: invalid(
    'The resource id is malformed.',
    'Send the UUID of the resource; for an agent, send its key.',
    {
      refused: 'POST /authz:check {"checks":[{"action":"cancel","resourceType":"run","resourceId":"7"}]}',
      right: 'POST /authz:check {"checks":[{"action":"cancel","resourceType":"run","resourceId":"<runId>"}]}',
    },
  ),
  ...lowerErrors,
} as const satisfies ErrorTable;

export type ErrorCode = keyof typeof errors;

/** Refuses the request with one of these codes; `reason` goes to the log only. */
export const fail: Fail<ErrorCode> = refuse;
