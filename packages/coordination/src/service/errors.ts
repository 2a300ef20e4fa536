import { type ErrorTable, type Fail, refuse } from '@baton/kernel/http/refusal';
import { badRequest, conflict, fixRequest, forbidden, invalid, retryLater, row } from './error-rows.ts';

/** The codes that every layer may use: status, when a client meets the code, what it does. */
export const errors = {
  invalid_request: badRequest('The request breaks the contract; the problems are listed.'),
  invalid_if_match: badRequest('If-Match does not name a version of this kind of object.'),
  permission_denied: forbidden('None of the permissions that would suffice is held.'),
  not_found: row(404, 'Absent, or not visible to the caller.')('There is no such object or path here.'),
  method_not_allowed: row(405, fixRequest)('The path exists, but not for this method.'),
  version_conflict: conflict('The object has another version than If-Match names.'),
  idempotency_key_reused: conflict('The key was used for another request.'),
  idempotency_in_flight: row(
    409,
    'Retry with the same key.',
  )('A request with the same key is still running.'),
  request_too_large: row(413, fixRequest)('The body is larger than the limit.'),
  // A call of a skill answers 400 where the contract demands a key in its body.
  idempotency_key_required: { ...invalid('This call needs an Idempotency-Key.'), otherStatus: 400 },
  invalid_idempotency_key: invalid('An Idempotency-Key has 1 to 200 characters.'),
  validation_error: invalid('A text holds a character that cannot be stored.'),
  invalid_limit: invalid('limit is outside of 1 to 200.'),
  invalid_cursor: invalid('The cursor is malformed or belongs to another list.'),
  invalid_status: invalid('The status is unknown or not allowed here.'),
  invalid_field: invalid('The field cannot be null.'),
  invalid_document: invalid(
    'The document is not a JSON object, or holds an integer that a double cannot hold exactly.',
  ),
  invalid_json_schema: invalid(
    'The document is no JSON Schema of draft 2020-12, refers to another document, or costs too much to apply.',
  ),
  payload_too_large: invalid('The document is too large.'),
  payload_too_deep: invalid('The document is nested too deeply.'),
  secret_material_rejected: invalid('A value looks like a secret; pass an opaque reference instead.'),
  non_canonical_value: invalid('A number of the document is no integer, so the document has no one hash.'),
  empty_update: invalid('The change names no field.'),
  if_match_required: row(428, 'Resend with If-Match.')('This call needs If-Match.'),
  internal_error: row(500, 'Report the requestId.')('An unhandled failure; the trace is in the log only.'),
  unavailable: row(503, retryLater)('The service is not ready, or its store is out of reach.'),
} as const satisfies ErrorTable;

export type ErrorCode = keyof typeof errors;

/** Refuses the request with one of these codes; `reason` goes to the log only. */
export const fail: Fail<ErrorCode> = refuse;
