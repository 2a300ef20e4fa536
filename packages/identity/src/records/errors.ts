import { gone } from '@baton/kernel/http/error-rows';
import { type ErrorTable, type Fail, refuse } from '@baton/kernel/http/refusal';
import { errors as lowerErrors } from '../service/errors.ts';

/** The codes of this layer and of those below it. */
export const errors = {
  journal_truncated: gone(
    'Events after this sequence have been removed because of their age.',
    'Continue from the sequence in the header `Journal-Floor`, and read the current state of the objects that you track, because the events in between are lost.',
  ),
  journal_rewound: gone(
    'The sequence belongs to another database, or to a history that ended with a restore or a failover.',
    'Continue from the sequence in the header `Journal-Read-To`. Events that you read after it may have been undone.',
  ),
  ...lowerErrors,
} as const satisfies ErrorTable;

export type ErrorCode = keyof typeof errors;

/** Refuses the request with one of these codes; `reason` goes to the log only. */
export const fail: Fail<ErrorCode> = refuse;
