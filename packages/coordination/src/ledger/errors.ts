import { type ErrorTable, type Fail, refuse } from '@baton/kernel/http/refusal';
import { conflict, invalid, row } from '../service/error-rows.ts';
import { errors as lowerErrors } from '../service/errors.ts';

/** The codes of this layer, and of those below it: status, when a client meets the code, what it does. */
export const errors = {
  unsupported_cursor_version: invalid('The cursor has a format of another version.'),
  cursor_below_journal_floor: invalid('The cursor points into deleted history.'),
  cursor_must_not_advance: invalid('A consumer may only be set back, never forward.'),
  cursor_from_other_history: row(
    410,
    'Read on from resumeCursor; what was read between that place and this cursor may be undone.',
  )(
    'The cursor is from a history that a restore or a fail-over of the database has ended, or from another database.',
  ),
  retention_blocked_by_consumer: conflict(
    'A consumer that every tenant needs has no cursor in this one: nothing of its history may go.',
  ),
  conflicting_cursors: invalid('These cursor parameters exclude each other.'),
  invalid_event_type_filter: invalid('A type filter is malformed, or there are more than 20.'),
  ...lowerErrors,
} as const satisfies ErrorTable;

export type ErrorCode = keyof typeof errors;

/** Refuses the request with one of these codes; `reason` goes to the log only. */
export const fail: Fail<ErrorCode> = refuse;
