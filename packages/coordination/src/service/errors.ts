import {
  badRequest,
  conflict,
  errorRow,
  forbidden,
  invalid,
  notFound,
  unavailable,
} from '@baton/kernel/http/error-rows';
import { type ErrorTable, type Fail, refuse } from '@baton/kernel/http/refusal';

/** The codes that every layer may use. */
export const errors = {
  invalid_request: badRequest(
    'The path, query, headers or body of the request do not match the declared schema.',
    'Correct each problem in `details.errors`: `loc` is the place and `message` the rule. Unknown names are rejected, so check the spelling.',
    { refused: 'POST /tasks {"titel":"Ship it"}', right: 'POST /tasks {"title":"Ship it"}' },
  ),
  invalid_if_match: badRequest(
    'If-Match does not contain a version of this kind of object.',
    'Send the `ETag` of the object that you read, or its kind and version.',
    {
      refused: 'PATCH /tasks/{ref} {"title":"Ship it"}\nIf-Match: *',
      right: 'PATCH /tasks/{ref} {"title":"Ship it"}\nIf-Match: "task-3"',
    },
  ),
  permission_denied: forbidden(
    'The caller has none of the permissions that the operation accepts.',
    'Have an administrator grant one of `details.required`. `GET /harness/context` lists the permissions of the caller.',
  ),
  not_found: notFound(
    'The object or path does not exist, or is not visible to the caller.',
    'Check the id and the path. Objects of other tenants, and of workspaces of which you are not a member, also return 404.',
  ),
  method_not_allowed: errorRow(
    405,
    'The path exists, but not for this method.',
    'Use one of the methods in the `Allow` header.',
    {
      refused: 'PUT /tasks/{ref} {"title":"Ship it"}',
      right: 'PATCH /tasks/{ref} {"title":"Ship it"}\nIf-Match: "task-3"',
    },
  ),
  version_conflict: conflict(
    'The object has changed: its version is not the one in If-Match.',
    'Read the object, apply your change to its current state, and send the new `ETag`.',
    {
      refused: 'PATCH /tasks/{ref} {"title":"Ship it"}\nIf-Match: "task-3"',
      right: 'PATCH /tasks/{ref} {"title":"Ship it"}\nIf-Match: "task-4"',
    },
  ),
  idempotency_key_reused: conflict(
    'The Idempotency-Key was used for a different request.',
    'Generate a new key for each command, and reuse it only to retry that command with an unchanged method, path and body.',
  ),
  idempotency_in_flight: conflict(
    'A request with the same Idempotency-Key is still running.',
    'Wait for `Retry-After` and retry with the same key; the response of the first request is then returned.',
  ),
  request_too_large: errorRow(
    413,
    'The body is larger than the endpoint accepts.',
    'Send a smaller body; `details.maxBytes` is the limit. Upload files with `PUT /artifact-contents` instead of in JSON.',
  ),
  // A skill call returns 400 if its body lacks a key that the contract requires.
  idempotency_key_required: {
    ...invalid(
      'The request requires an Idempotency-Key.',
      'Send a unique key, for instance a UUID, and the same one with each retry. A skill call takes it in the body, as `idempotencyKey`.',
      {
        refused:
          'POST /runs/{id}/control-messages {"operation":"queue","causalPosition":"12","directive":"Add tests","expectedRunVersion":2}',
        right:
          'POST /runs/{id}/control-messages {"operation":"queue","causalPosition":"12","directive":"Add tests","expectedRunVersion":2}\nIdempotency-Key: 0b1e6a5c-9d7f-4a53-8a0e-5d6f0c1b2a3e',
      },
    ),
    otherStatus: 400,
  },
  invalid_idempotency_key: invalid(
    'The Idempotency-Key is blank or longer than 200 characters.',
    'Send a shorter key; a UUID is sufficient.',
  ),
  validation_error: invalid(
    'A text contains a character that cannot be stored.',
    'Remove NUL characters and unpaired surrogates from the fields in `details.errors`.',
    { refused: 'POST /tasks {"title":"Ship\\u0000it"}', right: 'POST /tasks {"title":"Ship it"}' },
  ),
  invalid_limit: invalid(
    '`limit` is out of range.',
    'Send a `limit` from `details.min` to `details.max`, and follow `nextCursor` for more.',
    { refused: 'GET /tasks?limit=500', right: 'GET /tasks?limit=200' },
  ),
  invalid_cursor: invalid(
    'The cursor is malformed or belongs to another list.',
    'Send `nextCursor` of the previous page unchanged, with the same filters and order; without a cursor the list starts from the beginning.',
  ),
  invalid_status: invalid(
    'The status is unknown or not allowed here.',
    'Send one of `details.allowed` or `details.known`.',
    { refused: 'GET /runs?status=done', right: 'GET /runs?status=succeeded' },
  ),
  invalid_field: invalid(
    'The field cannot be null.',
    'Leave `details.field` out to keep its value, or send a value.',
    {
      refused: 'PATCH /tasks/{ref} {"title":null}\nIf-Match: "task-3"',
      right: 'PATCH /tasks/{ref} {"title":"Ship it"}\nIf-Match: "task-3"',
    },
  ),
  invalid_document: invalid(
    'The document is not a JSON object, or contains an integer that a double cannot represent exactly.',
    'Send an object, and large integers as strings. `details.field` and `details.path` contain the location.',
    {
      refused: 'POST /tasks {"title":"Ship it","customFields":{"order":90071992547409931}}',
      right: 'POST /tasks {"title":"Ship it","customFields":{"order":"90071992547409931"}}',
    },
  ),
  invalid_json_schema: invalid(
    'The document is not a JSON Schema of draft 2020-12, refers to another document, or is too expensive to evaluate.',
    'Correct the value at `details.path`; `details.message` describes the problem. Put shared parts into `$defs` of the same document.',
    {
      refused:
        'POST /task-types {"key":"bug","displayName":"Bug","fieldSchema":{"$ref":"https://example.com/bug.json"}}',
      right:
        'POST /task-types {"key":"bug","displayName":"Bug","fieldSchema":{"type":"object","properties":{"severity":{"type":"integer"}}}}',
    },
  ),
  payload_too_large: invalid(
    'The document is too large.',
    'Shorten `details.field` to `details.maxBytes`, or store the content as an artifact and refer to it.',
  ),
  payload_too_deep: invalid(
    'The document is nested too deeply.',
    'Flatten `details.field` to at most `details.maxDepth` levels.',
  ),
  secret_material_rejected: invalid(
    'A value has the form of a secret.',
    'Keep the secret in a secret store and send a reference to it. `details.path` contains the location. Revoke the secret if it was real.',
    {
      refused: 'POST /tasks {"title":"Deploy","customFields":{"apiKey":"k-1234"}}',
      right: 'POST /tasks {"title":"Deploy","customFields":{"secretRef":"vault:deploy"}}',
    },
  ),
  non_canonical_value: invalid(
    'A number in the document is not an integer, so the document has no unique hash.',
    'Send the number at `details.path` as an integer of a smaller unit, or as a string.',
  ),
  empty_update: invalid('The request changes no field.', 'Send at least one field to change.', {
    refused: 'PATCH /goals/{id} {}\nIf-Match: "goal-2"',
    right: 'PATCH /goals/{id} {"title":"Ship version 2"}\nIf-Match: "goal-2"',
  }),
  if_match_required: errorRow(
    428,
    'The request requires If-Match.',
    'Read the object and send its `ETag` as `If-Match`, so that you do not overwrite a change made in the meantime.',
    {
      refused: 'PATCH /tasks/{ref} {"title":"Ship it"}',
      right: 'PATCH /tasks/{ref} {"title":"Ship it"}\nIf-Match: "task-3"',
    },
  ),
  internal_error: errorRow(
    500,
    'The service failed unexpectedly.',
    'Report the `requestId`, with which the operator can find the cause in the log. A retry with the same Idempotency-Key is safe.',
  ),
  unavailable: unavailable(
    'The service is not ready, or cannot reach its database.',
    'Wait for `Retry-After`, then retry with the same Idempotency-Key.',
  ),
} as const satisfies ErrorTable;

export type ErrorCode = keyof typeof errors;

/** Refuses the request with one of these codes; `reason` goes to the log only. */
export const fail: Fail<ErrorCode> = refuse;
