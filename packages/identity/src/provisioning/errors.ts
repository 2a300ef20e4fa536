import {
  badGateway,
  badRequest,
  conflict,
  errorRow,
  forbidden,
  invalid,
  notFound,
  unauthenticated,
  unavailable,
} from '@baton/kernel/http/error-rows';
import { type ErrorTable, type Fail, refuse } from '@baton/kernel/http/refusal';
import { errors as lowerErrors } from '../sign-in/errors.ts';

/** The codes of this layer and of those below it. */
export const errors = {
  provisioning_source_not_found: notFound(
    'The tenant has no such provisioning source.',
    'Check the id with `GET …/provisioning-sources`.',
  ),
  provisioning_source_exists: conflict(
    'The key, the provider or the service principal already has a source.',
    'Use the existing source: a provider can have only one source, and a service principal can write for only one.',
  ),
  source_syncs_itself: conflict(
    'A SCIM source needs no heartbeat, because its writes show that it is active.',
    'Leave the call out.',
  ),
  token_limit_reached: conflict(
    'The source already has two valid tokens.',
    'Revoke the token that the directory no longer uses, then issue the new one.',
  ),
  service_account_required: invalid(
    'Only a service account can write for a source.',
    'Send the principal of a service account as `servicePrincipalId`.',
  ),
  service_principal_required: invalid(
    'A SCIM source needs the principal that writes for it.',
    'Send `servicePrincipalId`.',
  ),
  scim_unauthorized: unauthenticated(
    'The bearer token is missing, unknown or no longer valid.',
    'Enter a valid provisioning token in the directory, or an access token of the SCIM audience.',
  ),
  scim_service_identity_required: forbidden(
    'SCIM requires a service identity, not a person.',
    'Use the credential of the service account of the source.',
  ),
  scim_scope_required: forbidden(
    'The access token lacks the SCIM scope.',
    'Request the SCIM scope when you exchange the client credentials.',
  ),
  scim_source_required: forbidden(
    'The service account does not write for an active SCIM source.',
    'Register a source for the account, or enable its source.',
  ),
  scim_identity_provider_inactive: unavailable(
    'The identity provider of the source is disabled.',
    'Enable the provider (`POST …/identity-providers/{key}:enable`); the directory repeats its writes.',
  ),
  scim_unsupported_media_type: errorRow(
    415,
    'The body is neither application/scim+json nor application/json.',
    'Send `Content-Type: application/scim+json`.',
  ),
  scim_invalid_value: badRequest(
    'A value is missing, has the wrong type, or refers to an object that the source does not have.',
    'Correct the attribute in `detail`.',
    {
      refused:
        'POST /scim/v2/Users {"schemas":["urn:ietf:params:scim:schemas:core:2.0:User"],"externalId":"42"}',
      right:
        'POST /scim/v2/Users {"schemas":["urn:ietf:params:scim:schemas:core:2.0:User"],"externalId":"42","userName":"ada@example.com"}',
    },
  ),
  scim_invalid_filter: badRequest(
    'The filter is malformed, too long or too deep, or compares values that cannot be compared.',
    'Quote strings, and use the operators of RFC 7644, section 3.4.2.2.',
    {
      refused: 'GET /scim/v2/Users?filter=userName=ada@example.com',
      right: 'GET /scim/v2/Users?filter=userName%20eq%20"ada@example.com"',
    },
  ),
  scim_invalid_path: badRequest(
    'The path of an operation is malformed or does not refer to an attribute.',
    'Send the name of an attribute, with a filter in brackets for an element of a list.',
    {
      refused:
        'PATCH /scim/v2/Users/{id} {"schemas":["urn:ietf:params:scim:api:messages:2.0:PatchOp"],"Operations":[{"op":"replace","path":"emails.0.value","value":"ada@example.com"}]}',
      right:
        'PATCH /scim/v2/Users/{id} {"schemas":["urn:ietf:params:scim:api:messages:2.0:PatchOp"],"Operations":[{"op":"replace","path":"emails[type eq \\"work\\"].value","value":"ada@example.com"}]}',
    },
  ),
  scim_invalid_syntax: badRequest(
    'An operation is not add, replace or remove.',
    'Correct `op` of each operation.',
    {
      refused:
        'PATCH /scim/v2/Groups/{id} {"schemas":["urn:ietf:params:scim:api:messages:2.0:PatchOp"],"Operations":[{"op":"set","path":"displayName","value":"Team"}]}',
      right:
        'PATCH /scim/v2/Groups/{id} {"schemas":["urn:ietf:params:scim:api:messages:2.0:PatchOp"],"Operations":[{"op":"replace","path":"displayName","value":"Team"}]}',
    },
  ),
  scim_no_target: badRequest(
    'The operation has no target: it needs a path, or the filter in its path has no match.',
    'Send a `path`; add the element first if the filter has no match.',
    {
      refused:
        'PATCH /scim/v2/Groups/{id} {"schemas":["urn:ietf:params:scim:api:messages:2.0:PatchOp"],"Operations":[{"op":"remove"}]}',
      right:
        'PATCH /scim/v2/Groups/{id} {"schemas":["urn:ietf:params:scim:api:messages:2.0:PatchOp"],"Operations":[{"op":"remove","path":"members"}]}',
    },
  ),
  scim_mutability: badRequest(
    'The attribute cannot be changed.',
    'Remove the attribute from the mapping of the directory; `id` and `meta` belong to the service.',
  ),
  scim_too_many: badRequest(
    'The filter matches more resources, or the operations compare more elements, than can be processed in time.',
    'Narrow the filter, or send fewer operations at a time.',
  ),
  scim_filter_forbidden: forbidden(
    'Discovery documents cannot be filtered.',
    'Read the whole list, without `filter`.',
    { refused: 'GET /scim/v2/Schemas?filter=name%20eq%20"User"', right: 'GET /scim/v2/Schemas' },
  ),
  scim_not_found: notFound(
    'The source has no such resource.',
    'Have the directory look it up by `externalId` or `userName` and use the returned `id`; each source sees only what it wrote.',
  ),
  scim_uniqueness: conflict(
    'Another resource already has the name, the external id or the key.',
    'Match the existing resource in the directory by `userName` or `externalId`, and update it instead.',
  ),
  scim_version_mismatch: errorRow(
    412,
    'The resource has changed: its version is not the one in If-Match.',
    'Read the resource, and send its new `meta.version`.',
  ),
  scim_upstream_refused: badGateway(
    'The source writes to its directory first, and the directory rejected the write. No change is stored.',
    "Retry. The service's log and the audit log contain the response of the directory.",
  ),
  ...lowerErrors,
} as const satisfies ErrorTable;

export type ErrorCode = keyof typeof errors;

/** Refuses the request with one of these codes; `reason` goes to the log only. */
export const fail: Fail<ErrorCode> = refuse;
