import { type ErrorTable, type Fail, refuse } from '@baton/kernel/http/refusal';
import { absent, code, conflict, exists, invalid, malformed } from '../service/error-rows.ts';
import { errors as lowerErrors } from '../sign-in/errors.ts';

/** The codes of this layer, and of those below it: status, when a client meets the code, what it does. */
export const errors = {
  provisioning_source_not_found: absent('The tenant has no such provisioning source.'),
  provisioning_source_exists: exists('The key, the provider or the service principal has a source already.'),
  source_syncs_itself: code(
    409,
    'A SCIM source is heard from by its own writes.',
    'Leave it: nothing is missing.',
  ),
  token_limit_reached: code(409, 'Two tokens of the source are live.', 'Revoke one of them first.'),
  service_account_required: invalid('Only a service account may write for a source.'),
  service_principal_required: invalid('A SCIM source needs the principal that writes.'),
  scim_unauthorized: code(
    401,
    'The bearer token is missing, unknown or no longer valid.',
    'Send a valid access token of the SCIM audience, or a provisioning token.',
  ),
  scim_service_identity_required: code(
    403,
    'SCIM is for a service identity, not for a person.',
    'Use a service account.',
  ),
  scim_scope_required: code(403, 'The access token lacks the SCIM scope.', 'Ask for the scope.'),
  scim_source_required: code(
    403,
    'The service account writes for no active SCIM source.',
    'Register a source for the account, or enable it.',
  ),
  scim_identity_provider_inactive: code(
    503,
    'The identity provider of the source is disabled.',
    'Enable the provider first.',
  ),
  scim_unsupported_media_type: code(
    415,
    'The body is neither application/scim+json nor application/json.',
    'Send application/scim+json.',
  ),
  scim_invalid_value: malformed('A value is missing, of another type, or names nothing that the source has.'),
  scim_invalid_filter: malformed(
    'The filter is malformed, too long or too deep, or compares what can not be compared.',
  ),
  scim_invalid_path: malformed('The path of an operation is malformed or names no attribute.'),
  scim_invalid_syntax: malformed('An operation is none of add, replace and remove.'),
  scim_no_target: malformed('The operation has no target: a path is needed, or its filter matches nothing.'),
  scim_mutability: malformed('The attribute can not be changed.'),
  scim_too_many: code(
    400,
    'The filter is met by more resources, or the operations compare more elements, than can be done in time.',
    'Narrow the filter, or send fewer operations at a time.',
  ),
  scim_filter_forbidden: code(403, 'Discovery documents can not be filtered.', 'Read the whole list.'),
  scim_not_found: absent('The source has no such resource.'),
  scim_uniqueness: conflict('Another resource has the name, the external id or the key already.'),
  scim_version_mismatch: code(412, 'If-Match names another version.', 'Read the resource again.'),
  scim_upstream_refused: code(
    502,
    'The source writes to its directory first, which did not take the write: nothing is stored.',
    'Retry; the log and the audit record say what the directory answered.',
  ),
  ...lowerErrors,
} as const satisfies ErrorTable;

export type ErrorCode = keyof typeof errors;

/** Refuses the request with one of these codes; `reason` goes to the log only. */
export const fail: Fail<ErrorCode> = refuse;
