import type { ErrorTable } from '@baton/kernel/refusal';

const code = (status: number, when: string, react: string) => ({ status, when, react });
const always = (status: number, react: string) => (when: string) => code(status, when, react);

const malformed = always(400, 'Fix the request.');
const credential = always(401, 'Get a new credential; the answer never says what is wrong with this one.');
const upstream = always(401, 'Sign in at the identity provider again.');
const forbidden = always(403, 'Ask for less, or have the rights widened.');
const absent = always(404, 'Check the identifier and the tenant.');
const conflict = always(409, 'Read the state again, then decide.');
const exists = always(409, 'Treat it as done, or choose another name.');
const invalid = always(422, 'Fix the request.');

/** The error registry (identity contract, sections 4 to 8 and 17): status, when a client meets the code, what it does. */
export const errors = {
  idempotency_key_required: malformed('Issuing and rotating a token needs an Idempotency-Key.'),

  unauthorized: code(401, 'The admin header is missing, empty or wrong.', 'Send the admin secret.'),
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
  authentication_context_required: code(
    403,
    'No sign-in of this person is recorded.',
    'Record a sign-in of the person first.',
  ),
  authentication_context_expired: code(
    403,
    'The newest sign-in is older than the allowed age.',
    'Record a fresh sign-in of the person.',
  ),

  step_up_required: code(
    403,
    'The sign-in lacks an `acr` or `amr` that the provider is registered with.',
    'Sign in at the identity provider by a stronger method.',
  ),
  identity_disabled: code(403, 'The external identity is disabled.', 'Ask an administrator.'),
  principal_disabled: code(
    403,
    'The principal behind the external identity is paused or disabled.',
    'Have it enabled.',
  ),
  principal_not_in_tenant: code(
    403,
    'The person is known, but not as a member of this tenant.',
    'Sign in to a tenant that has the person as a member.',
  ),

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
  method_not_allowed: code(
    405,
    'The path exists, but not for this method.',
    'Use a method that Allow names.',
  ),

  tenant_id_exists: exists('A tenant has this id.'),
  tenant_slug_exists: exists('A tenant has this slug.'),
  external_identity_conflict: code(
    409,
    'The subject and the external id of the upstream token belong to different identities.',
    'Find out which of the two identities is the person; only an administrator can.',
  ),
  external_identity_exists: exists('The issuer and subject are linked already, here or in another tenant.'),
  identity_provider_managed: code(
    409,
    "The tenant's identity provider of this issuer links its people itself.",
    'Let the person sign in through the provider, or make it `managed`.',
  ),
  identity_provider_exists: exists('The tenant has an identity provider with this key or this issuer.'),
  audience_exists: exists('The tenant has an audience with this key.'),
  group_exists: exists('The tenant has a group with this key.'),
  group_is_federated: code(
    409,
    'The group is kept by an identity provider or a directory.',
    'Change it where it is kept.',
  ),
  group_membership_exists: code(409, 'The principal is a member of the group.', 'Treat it as done.'),
  principal_not_active: code(409, 'The principal is paused or disabled.', 'Enable the principal first.'),
  principal_provisioned: code(
    409,
    'A directory provisions the person and decides about it.',
    'Change the person in that directory.',
  ),
  credential_not_active: code(409, 'The token is revoked or expired.', 'Issue another token.'),
  credential_conflict: code(
    409,
    'Another token got in the way while this one was made.',
    'Retry with the same Idempotency-Key.',
  ),
  credential_exists: exists('A token with this prefix or this hash exists.'),
  service_account_revoked: code(409, 'The service account is revoked.', 'Create another one.'),
  population_managed_by_directory: code(
    409,
    "A `read_only` provider's people are kept by its own directory, not by a SCIM source.",
    'Let one of them keep the people: make the provider `managed`, or disable its SCIM source.',
  ),
  provisioning_source_exists: exists('The key, the provider or the service principal has a source already.'),
  source_syncs_itself: code(
    409,
    'A SCIM source is heard from by its own writes.',
    'Leave it: nothing is missing.',
  ),
  token_limit_reached: code(409, 'Two tokens of the source are live.', 'Revoke one of them first.'),
  idempotency_key_reused: code(409, 'The key was used for another request.', 'Use a new key.'),

  journal_truncated: code(
    410,
    'Events after this sequence have been removed because of their age.',
    'Start from the sequence that the header Journal-Floor names; what was removed is gone.',
  ),

  request_too_large: code(413, 'The body is larger than 1 MiB.', 'Send less.'),

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
  unsupported_grant_type: code(
    400,
    'The grant is another than client_credentials.',
    'Ask for client_credentials.',
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
    'The filter is met by more resources than can be found in time.',
    'Narrow the filter.',
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

  rate_limited: code(
    429,
    'Too many wrong secrets were presented for this credential, or from this address.',
    'Retry after the seconds that Retry-After names.',
  ),

  internal_error: code(
    500,
    'A failure of ours, or no signing key is configured. `detail` holds no code.',
    'Report it with the request id.',
  ),
  identity_provider_unavailable: code(
    503,
    'The identity provider does not answer, and its keys are too old to be used.',
    'Retry after the seconds that Retry-After names.',
  ),
  unavailable: code(
    503,
    'The database can not be used now, or too many signatures are waiting.',
    'Retry after the seconds that Retry-After names.',
  ),
} satisfies ErrorTable;

export type ErrorCode = keyof typeof errors;
