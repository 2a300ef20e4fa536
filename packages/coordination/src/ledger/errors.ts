import { conflict, gone, invalid } from '@baton/kernel/http/error-rows';
import { type ErrorTable, type Fail, refuse } from '@baton/kernel/http/refusal';
import { errors as lowerErrors } from '../service/errors.ts';

/** The codes of this layer and of those below it. */
export const errors = {
  unsupported_cursor_version: invalid(
    'The cursor has the format of another version of the service.',
    'Use a cursor that this release returned, or start again without one.',
  ),
  cursor_below_journal_floor: invalid(
    'The cursor points into history that has been removed.',
    'Continue from `details.floorCursor`, and read the current state of the objects that you track: the events in between are lost.',
  ),
  cursor_must_not_advance: invalid(
    'The cursor of a consumer can only be moved back.',
    'Send an earlier cursor, or none to start at the beginning.',
  ),
  cursor_from_other_history: gone(
    'The cursor belongs to another database, or to a history that ended with a restore or a failover.',
    'Continue from `details.resumeCursor`. Events that you read between that position and your cursor may have been undone, so read the affected objects again.',
  ),
  retention_blocked_by_consumer: conflict(
    'A consumer that every tenant needs has no cursor in this tenant yet, so no history can be removed.',
    'Wait until the context adapter has processed the tenant; `GET /operations/context-adapter` shows its position.',
  ),
  conflicting_cursors: invalid(
    'These cursor parameters exclude each other.',
    'Send only one of `cursor`, `after`, `before` and `tail`.',
    { refused: 'GET /events?after=40&before=90', right: 'GET /events?after=40' },
  ),
  invalid_event_type_filter: invalid(
    'A type filter is malformed, or there are more than 20.',
    'Send at most 20 event types or prefixes, such as `task.` or `run.started`.',
    { refused: 'GET /events?types=Task*', right: 'GET /events?types=task.created,claim' },
  ),
  ...lowerErrors,
} as const satisfies ErrorTable;

export type ErrorCode = keyof typeof errors;

/** Refuses the request with one of these codes; `reason` goes to the log only. */
export const fail: Fail<ErrorCode> = refuse;
