import type { ErrorTable } from '@baton/kernel/refusal';

const row = (status: number, react: string) => (when: string) => ({ status, when, react });

const malformed = row(400, 'Fix the request.');
const credential = row(401, 'Get a new credential; the answer never says what is wrong with this one.');
const upstream = row(401, 'Sign in at the identity provider again.');
const forbidden = row(403, 'Ask for less, or have the rights widened.');
const absent = row(404, 'Check the identifier and the tenant.');
const conflict = row(409, 'Read the state again, then decide.');
const exists = row(409, 'Treat it as done, or choose another name.');
const invalid = row(422, 'Fix the request.');

/** The error registry (identity contract, sections 4 to 8 and 17): status, when a client meets the code, what it does. */
export const errors = {
  idempotency_key_required: malformed('Issuing and rotating a token needs an Idempotency-Key.'),

  unauthorized: row(401, 'Send the admin secret.')('The admin header is missing, empty or wrong.'),
  invalid_token: credential(
    'The token is unknown, revoked or expired, or its tenant, membership or principal is not active; an upstream token is malformed or no ID token.',
  ),
  unsupported_algorithm: upstream('The upstream token is signed by an algorithm that is not accepted.'),
  unknown_signing_key: upstream('The upstream token names no key of its provider.'),
  invalid_signature: upstream('The signature of the upstream token does not fit.'),
  token_expired: upstream('The upstream token has expired.'),
  invalid_audience: upstream('The upstream token is meant for somebody else.'),
  missing_subject_claim: upstream('The upstream token does not say whom it is about.'),
  invalid_client: credential(
    'The client is unknown or revoked, its secret is wrong, or its tenant, membership or principal is not active.',
  ),

  audience_not_allowed: forbidden(
    'The credential does not name the audience, or it is not an active audience of the tenant.',
  ),
  scope_not_allowed: forbidden('A scope that was asked for lies outside of what the credential may have.'),
  authentication_context_required: row(
    403,
    'Record a sign-in of the person first.',
  )('No sign-in of this person is recorded.'),
  authentication_context_expired: row(
    403,
    'Record a fresh sign-in of the person.',
  )('The newest sign-in is older than the allowed age.'),

  step_up_required: row(
    403,
    'Sign in at the identity provider by a stronger method.',
  )('The sign-in lacks an `acr` or `amr` that the provider is registered with.'),
  identity_disabled: forbidden('The external identity is disabled.'),
  principal_disabled: forbidden('The principal behind the external identity is paused or disabled.'),
  principal_not_in_tenant: forbidden('The person is known, but not as a member of this tenant.'),

  tenant_not_found: absent('There is no such tenant, or it is not active.'),
  principal_not_found: absent('There is no such principal with an active membership in the tenant.'),
  external_identity_not_found: absent('The principal has no such external identity.'),
  credential_not_found: absent('The tenant has no such token.'),
  audience_not_found: absent('The tenant has no such audience.'),
  service_account_not_found: absent('The tenant has no such service account.'),
  group_not_found: absent('The tenant has no such group.'),
  group_membership_not_found: absent('The principal is no member of the group.'),
  identity_provider_not_found: absent(
    'The tenant has no such identity provider; for a sign-in: no active one.',
  ),
  provisioning_source_not_found: absent('The tenant has no such provisioning source.'),
  not_found: absent('There is no such path here.'),
  method_not_allowed: row(405, 'Use a method that Allow names.')('The path exists, but not for this method.'),

  tenant_id_exists: exists('A tenant has this id.'),
  tenant_slug_exists: exists('A tenant has this slug.'),
  external_identity_conflict: conflict(
    'The subject and the external id of the upstream token belong to different identities.',
  ),
  external_identity_exists: exists('The issuer and subject are linked already, here or in another tenant.'),
  identity_provider_managed: conflict(
    "The tenant's identity provider of this issuer links its people itself.",
  ),
  identity_provider_exists: exists('The tenant has an identity provider with this key or this issuer.'),
  audience_exists: exists('The tenant has an audience with this key.'),
  group_exists: exists('The tenant has a group with this key.'),
  group_is_federated: conflict('The group is kept by an identity provider or a directory.'),
  group_membership_exists: exists('The principal is a member of the group.'),
  principal_not_active: conflict('The principal is paused or disabled.'),
  principal_provisioned: conflict('A directory provisions the person and decides about it.'),
  credential_not_active: conflict('The token is revoked or expired.'),
  credential_conflict: row(
    409,
    'Retry with the same Idempotency-Key.',
  )('Another token got in the way while this one was made.'),
  credential_exists: exists('A token with this prefix or this hash exists.'),
  service_account_revoked: conflict('The service account is revoked.'),
  population_managed_by_directory: conflict(
    "The provider's people are kept by its own directory (`read_only`).",
  ),
  provisioning_source_exists: exists('The key, the provider or the service principal has a source already.'),
  source_syncs_itself: conflict('A SCIM source is heard from by its own writes.'),
  token_limit_reached: conflict('Two tokens of the source are live; revoke one first.'),
  idempotency_key_reused: row(409, 'Use a new key.')('The key was used for another request.'),

  journal_truncated: row(
    410,
    'Start from the sequence that the header Journal-Floor names; what was removed is gone.',
  )('Events after this sequence have been removed because of their age.'),

  request_too_large: row(413, 'Send less.')('The body is larger than 1 MiB.'),

  invalid_request: invalid(
    'The request has another form than the declared one; `detail` is a list of the problems.',
  ),
  validation_error: invalid(
    'A text holds a character that can not be stored; `detail` is a list of the problems.',
  ),
  principal_kind_not_allowed: invalid('Only humans and agents get tokens; services use client credentials.'),
  human_principal_required: invalid('Only humans sign in.'),
  service_account_required: invalid('Only a service account may write for a source.'),
  service_principal_required: invalid('A SCIM source needs the principal that writes.'),
  unknown_audience: invalid('A key that was named is not an active audience of the tenant.'),
  invalid_scope_ceiling: invalid('The ceiling is wider than the scopes that the audiences allow.'),
  expiry_too_long: invalid('The token would live longer than the allowed maximum.'),
  invalid_scope: invalid('A scope has 1 to 120 characters.'),
  invalid_issuer: {
    ...invalid('The issuer of an identity provider is an http or https address.'),
    // An upstream token of another issuer.
    otherStatus: 401,
  },
  invalid_credential_material: invalid('The prefix or the hash of the key is not hexadecimal.'),
  compatibility_window_too_long: invalid('The imported key would live longer than the allowed maximum.'),

  scim_unauthorized: row(
    401,
    'Send a valid access token of the SCIM audience, or a provisioning token.',
  )('The bearer token is missing, unknown or no longer valid.'),
  scim_service_identity_required: row(
    403,
    'Use a service account.',
  )('SCIM is for a service identity, not for a person.'),
  scim_scope_required: row(403, 'Ask for the scope.')('The access token lacks the SCIM scope.'),
  scim_source_required: row(
    403,
    'Register a source for the account.',
  )('The service account writes for no active SCIM source.'),
  scim_identity_provider_inactive: row(
    503,
    'Enable the provider first.',
  )('The identity provider of the source is disabled.'),
  scim_unsupported_media_type: row(
    415,
    'Send application/scim+json.',
  )('The body is neither application/scim+json nor application/json.'),
  unsupported_grant_type: malformed('The grant is another than client_credentials.'),
  scim_invalid_value: malformed('A value is missing, of another type, or names nothing that the source has.'),
  scim_invalid_filter: malformed(
    'The filter is malformed, too long or too deep, or compares what can not be compared.',
  ),
  scim_invalid_path: malformed('The path of an operation is malformed or names no attribute.'),
  scim_invalid_syntax: malformed('An operation is none of add, replace and remove.'),
  scim_no_target: malformed('The operation has no target: a path is needed, or its filter matches nothing.'),
  scim_mutability: malformed('The attribute can not be changed.'),
  scim_too_many: malformed('The filter is met by more resources than can be found in time: narrow it.'),
  scim_filter_forbidden: row(403, 'Read the whole list.')('Discovery documents can not be filtered.'),
  scim_not_found: absent('The source has no such resource.'),
  scim_uniqueness: conflict('Another resource has the name, the external id or the key already.'),
  scim_version_mismatch: row(412, 'Read the resource again.')('If-Match names another version.'),
  scim_upstream_refused: row(
    502,
    'Retry; the log and the audit record say what the directory answered.',
  )('The source writes to its directory first, which did not take the write: nothing is stored.'),

  rate_limited: row(
    429,
    'Retry after the seconds that Retry-After names.',
  )('Too many wrong secrets were presented for this credential, or from this address.'),

  internal_error: row(
    500,
    'Report it with the request id.',
  )('A failure of ours, or no signing key is configured. `detail` holds no code.'),
  identity_provider_unavailable: row(
    503,
    'Retry after the seconds that Retry-After names.',
  )('The identity provider does not answer, and its keys are too old to be used.'),
  unavailable: row(
    503,
    'Retry after the seconds that Retry-After names.',
  )('The database can not be used now, or too many signatures are waiting.'),
} satisfies ErrorTable;

export type ErrorCode = keyof typeof errors;
