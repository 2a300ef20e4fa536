import { type ErrorTable, type Fail, refuse } from '@baton/kernel/http/refusal';
import { code } from '../service/error-rows.ts';
import { errors as lowerErrors } from '../service/errors.ts';

/** The codes of this layer, and of those below it: status, when a client meets the code, what it does. */
export const errors = {
  journal_truncated: code(
    410,
    'Events after this sequence have been removed because of their age.',
    'Start from the sequence that the header Journal-Floor names; what was removed is gone.',
  ),
  journal_rewound: code(
    410,
    'The sequence is from a history that a restore or a fail-over of the database has ended, or from another database.',
    'Read on from the sequence that the header Journal-Read-To names; what was read after it may be undone.',
  ),
  ...lowerErrors,
} as const satisfies ErrorTable;

export type ErrorCode = keyof typeof errors;

/** Refuses the request with one of these codes; `reason` goes to the log only. */
export const fail: Fail<ErrorCode> = refuse;
