import type { ErrorTable } from '@baton/kernel/refusal';

const fixRequest = 'Fix the request.';
const renewCredential = 'Renew the credential.';
const getRights = 'Get the rights.';
const reRead = 'Read the state again, then decide.';
const retryLater = 'Retry later with the same Idempotency-Key.';

const row = (status: number, react: string) => (when: string) => ({ status, when, react });
const badRequest = row(400, fixRequest);
const forbidden = row(403, getRights);
const conflict = row(409, reRead);
const invalid = row(422, fixRequest);

/** The error registry (coordination-core, section 21): status, when a client meets the code, what it does. */
export const errors = {
  invalid_request: badRequest('The request breaks the contract; the problems are listed.'),
  invalid_if_match: badRequest('If-Match does not name a version of this kind of object.'),

  invalid_credentials: row(
    401,
    renewCredential,
  )('The credential is missing, wrong, over, or not admitted here.'),

  permission_denied: forbidden('None of the permissions that would suffice is held.'),
  scope_not_granted: forbidden('The token carries no scope of this service.'),
  permission_escalation: forbidden('Nobody grants permissions that they lack themselves.'),
  principal_not_active: { ...forbidden('The principal is paused or disabled.'), otherStatus: 422 },
  delegation_required: forbidden('No live delegation lets the caller act for that person.'),
  bootstrap_disabled: forbidden('No bootstrap secret is configured.'),
  claim_holder_mismatch: forbidden('The claim belongs to another principal.'),
  session_owner_mismatch: forbidden('The session belongs to another principal.'),
  run_holder_mismatch: forbidden('The run belongs to another principal.'),

  not_found: row(404, 'Absent, or not visible to the caller.')('There is no such object or path here.'),
  method_not_allowed: row(405, fixRequest)('The path exists, but not for this method.'),

  version_conflict: conflict('The object has another version than If-Match names.'),
  stale_claim: row(
    409,
    'Stop writing and read the context again.',
  )('The claim presented no longer protects the task.'),
  task_already_claimed: conflict('Somebody else holds a live claim on the task.'),
  task_claimed: conflict('The task is claimed: a change needs its claimId and fencingToken.'),
  claim_expired: conflict('The lease of the claim is over.'),
  claim_not_active: conflict('The claim was released or taken over.'),
  claim_not_expired: conflict('The claim is still live, so it cannot be taken over.'),
  session_expired: conflict('The lease of the session is over.'),
  session_not_active: conflict('The session was closed or went stale.'),
  task_not_ready: conflict('Tasks that this one waits for are not done.'),
  already_bootstrapped: conflict('This installation has its tenant already.'),
  iam_identity_bound_elsewhere: conflict('The identity is bound in another tenant.'),
  idempotency_key_reused: conflict('The key was used for another request.'),
  idempotency_in_flight: row(
    409,
    'Retry with the same key.',
  )('A request with the same key is still running.'),
  cannot_disable_self: conflict('Nobody disables themselves.'),
  run_already_active: conflict('The task has a running run.'),
  run_not_active: conflict('The run has ended.'),
  run_in_progress: conflict('A run of the presented claim is still running.'),
  task_already_completed: conflict('The task is completed.'),
  relation_exists: conflict('The relation exists.'),

  request_too_large: row(413, fixRequest)('The body is larger than the limit.'),

  idempotency_key_required: invalid('This call needs an Idempotency-Key.'),
  invalid_idempotency_key: invalid('An Idempotency-Key has 1 to 200 characters.'),
  validation_error: invalid('A text holds a character that cannot be stored.'),
  principal_kind_not_disableable: invalid('A service principal is not disabled by this call.'),
  principal_kind_not_enableable: invalid('A service principal is not enabled by this call.'),
  permissions_not_allowed_for_kind: invalid('admin and approvals.decide are for humans only.'),
  iam_issuer_untrusted: invalid('The issuer is not the configured one.'),
  invalid_limit: invalid('limit is outside of 1 to 200.'),
  invalid_cursor: invalid('The cursor is malformed or belongs to another list.'),
  unsupported_cursor_version: invalid('The cursor has a format of another version.'),
  cursor_below_journal_floor: invalid('The cursor points into deleted history.'),
  conflicting_cursors: invalid('These cursor parameters exclude each other.'),
  invalid_event_type_filter: invalid('A type filter is malformed, or there are more than 20.'),
  invalid_sort: invalid('sort is startDate or dueDate.'),
  invalid_search: invalid('q has at most 200 characters and 10 words.'),
  invalid_priority: invalid('The priority is unknown.'),
  invalid_status: invalid('The status is unknown or not allowed here.'),
  invalid_status_category: invalid('The status category is unknown.'),
  invalid_ttl: invalid('ttlSeconds is outside of its bounds.'),
  invalid_harness: invalid('The harness type is malformed.'),
  unsupported_protocol_version: invalid('The harness protocol has the versions 1 and 2.'),
  invalid_kind: invalid('The kind of principal is unknown.'),
  invalid_permissions: invalid('A permission is unknown.'),
  invalid_display_name: invalid('The display name is blank.'),
  invalid_delegation: invalid('A delegation goes from a human to an agent and ends after it starts.'),
  invalid_requirement: invalid('A requirement is malformed.'),
  unknown_requirement: invalid('A required role, capability or skill does not exist.'),
  unknown_agent: invalid('There is no such agent in the registry.'),
  invalid_field: invalid('The field cannot be null.'),
  invalid_document: invalid('The document is not a JSON object.'),
  payload_too_large: invalid('The document is too large.'),
  payload_too_deep: invalid('The document is nested too deeply.'),
  secret_material_rejected: invalid('A value looks like a secret; pass an opaque reference instead.'),
  custom_fields_invalid: invalid("The custom fields don't fit the type's schema."),
  empty_update: invalid('The change names no field.'),
  invalid_title: invalid('The title is blank.'),
  status_not_in_lifecycle: invalid("The status is not one of the type's lifecycle."),
  invalid_transition: invalid('The lifecycle declares no such move.'),
  invalid_planned_dates: invalid('The due date lies before the start date.'),
  invalid_acceptance: invalid('An acceptance check is malformed.'),
  invalid_acceptance_spec: invalid("The spec of an acceptance check doesn't fit its kind."),
  duplicate_check_key: invalid('Two acceptance checks have the same key.'),
  invalid_evidence: invalid('A piece of evidence is malformed.'),
  duplicate_evidence: invalid('The same fact is given twice as evidence.'),
  unknown_acceptance_check: invalid('Evidence names a check that the task does not have.'),
  invalid_origin: invalid('The origin is malformed.'),
  invalid_relation: invalid('A task has no relation to itself.'),
  invalid_relation_type: invalid('The relation type is unknown.'),
  dependency_cycle: invalid('The relation would close a cycle.'),
  task_not_claimable: invalid('The task is in a terminal status.'),
  task_not_runnable: invalid('The task is in a terminal status.'),
  task_cancelled: invalid('The task was cancelled.'),
  invalid_budget: invalid('A budget is a positive number up to 2147483647.'),
  agent_revision_mismatch: invalid('The agent revision is not one of the caller.'),
  unknown_action: invalid('The action does not apply to that type of resource.'),
  invalid_check: invalid('The resource id is malformed.'),

  if_match_required: row(428, 'Resend with If-Match.')('This call needs If-Match.'),
  rate_limited: row(429, retryLater)('Too many requests.'),
  internal_error: row(500, 'Report the requestId.')('An unhandled failure; the trace is in the log only.'),
  verification_unavailable: row(503, retryLater)('The signing keys of identity cannot be had.'),
  unavailable: row(503, retryLater)('The service is not ready, or its store is out of reach.'),
} as const satisfies ErrorTable;

export type ErrorCode = keyof typeof errors;
