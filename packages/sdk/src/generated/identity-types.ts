// GENERATED from the OpenAPI documents by: npm run generate

export type Audience = {
id: Uuid;
tenant_id: Uuid;
key: string;
allowed_scopes: string[];
signing_algorithm: "RS256" | "ES256" | "EdDSA";
status: "active" | "disabled";
};

export type AudienceChange = {
/** Replaces the whole list. Optional if a status is sent. */
allowedScopes?: string[];
/** Applies from the next exchange on; tokens issued before remain valid. */
signingAlgorithm?: "RS256" | "ES256" | "EdDSA";
/** `disabled` closes the audience to every exchange at once. */
status?: "active" | "disabled";
};

export type AuditRecord = {
sequence: number;
id: Uuid;
tenant_id: Uuid;
action: string;
actor_ref: string;
resource_type: string;
resource_id: Uuid;
outcome: "allowed" | "denied";
reason: string;
request_id: string;
occurred_at: Timestamp;
};

export type AuditRecordPage = {
items: AuditRecord[];
/** The start of the next page; null on the last page. */
next_after: number | null;
};

export type AuthenticationContext = {
id: Uuid;
principalId: Uuid;
issuer: string;
acr: string | null;
amr: string[];
authTime: Timestamp;
recordedAt: Timestamp;
source: "bootstrap";
};

export type AuthorizationServerMetadata = {
issuer: string;
/** Explains that browser sign-in is not available. */
authorization_endpoint: string;
token_endpoint: string;
jwks_uri: string;
/** None. */
response_types_supported: string[];
grant_types_supported: string[];
token_endpoint_auth_methods_supported: string[];
introspection_endpoint: string;
introspection_endpoint_auth_methods_supported: string[];
revocation_endpoint: string;
revocation_endpoint_auth_methods_supported: string[];
service_documentation: string;
};

export type ChangedServiceAccount = {
principalId: Uuid;
clientId: string;
audiences: string[];
scopeCeiling: string[];
/** Present only if it was replaced. */
clientSecret?: string;
};

export type ClientExchange = {
accessToken: string;
tokenType: "Bearer";
/** Seconds. */
expiresIn: number;
};

export type ClientExchangeRequest = {
clientId: string;
clientSecret: string;
audience: string;
/** Exactly these are granted. */
scopes?: string[];
};

export type CreatedGroup = {
id: Uuid;
tenant_id: Uuid;
key: string;
name: string;
status: "active" | "disabled";
};

export type CreatedServiceAccount = {
principalId: Uuid;
clientId: string;
clientSecret: string;
};

export type DisabledPrincipal = {
principalId: Uuid;
status: "disabled";
/** The number of tokens that this call revoked. */
revokedCredentials: number;
};

export type EnabledPrincipal = {
principalId: Uuid;
status: "active";
};

export type Error = {
detail: string | Problem[];
/** The page that describes the code, if the operator has set its address. */
docs?: string;
};

export type ExternalIdentity = {
id: Uuid;
principal_id: Uuid;
issuer: string;
subject: string;
status: "active" | "disabled";
created_at: Timestamp;
};

export type FederatedSignIn = {
principalId: Uuid;
identityProvider: string;
/** The groups of this tenant that the person is a member of through this provider. */
groups: string[];
authenticationContext: {
acr: string | null;
amr: string[];
authTime: Timestamp | null;
};
/** Whether the provider did not respond and its cached keys were used. */
identityProviderStale: boolean;
};

export type FederatedSignInRequest = {
/** The key of the identity provider. */
identityProvider: string;
/** An ID token or access token of that provider (a signed JWT). */
token: string;
};

export type FederatedToken = {
accessToken: string;
tokenType: "Bearer";
/** Seconds. */
expiresIn: number;
audience: string;
scope: string[];
sessionId: Uuid;
principalId: Uuid;
identityProvider: string;
/** The groups of this tenant that the person is a member of through this provider. */
groups: string[];
authenticationContext: {
acr: string | null;
amr: string[];
authTime: Timestamp | null;
};
/** Whether the provider did not respond and its cached keys were used. */
identityProviderStale: boolean;
};

export type FederatedTokenRequest = {
/** The key of the identity provider. */
identityProvider: string;
/** An ID token or access token of that provider (a signed JWT). */
token: string;
audience: string;
/** Empty for all scopes that the audience allows, except the privileged ones. */
scopes?: string[];
};

export type Group = {
id: Uuid;
tenant_id: Uuid;
key: string;
name: string;
status: "active" | "disabled";
/** The manager of the group: the admin, an identity provider, or a directory. */
source: "local" | "federated" | "scim";
created_at: Timestamp;
};

export type GroupChange = {
name?: string;
/** A `disabled` group does not entitle its members to a privileged scope. */
status?: "active" | "disabled";
};

export type GroupMember = {
principal_id: Uuid;
kind: "human" | "agent" | "service_account" | "workload";
display_name: string;
/** Of the principal. */
status: "active" | "paused" | "disabled";
/** The source of the membership. */
source: "local" | "federated" | "scim";
/** When the membership began. */
created_at: Timestamp;
};

export type GroupMemberPage = {
items: GroupMember[];
/** The cursor of the next page, for `after`; null on the last page. */
next_after: string | null;
};

export type GroupMembership = {
id: Uuid;
tenant_id: Uuid;
group_id: Uuid;
principal_id: Uuid;
};

export type GroupPage = {
items: Group[];
/** The cursor of the next page, for `after`; null on the last page. */
next_after: string | null;
};

export type IdentityProvider = {
id: Uuid;
tenant_id: Uuid;
key: string;
/** The issuer without trailing slashes; tokens may also contain the registered issuer. */
issuer: string;
audience: string;
jwks_uri: string;
subject_claim: string;
external_id_claim: string;
group_claim: string;
display_name_claim: string;
group_mappings: Record<string, string>;
required_acr_values: string[];
required_amr_values: string[];
required_claims: Record<string, string[]>;
authorized_parties: string[];
lifecycle_profile: "read_only" | "managed";
principal_kind: "human" | "workload";
jwks_cache_ttl_seconds: number;
jwks_stale_grace_seconds: number;
status: "active" | "disabled";
created_at: Timestamp;
};

export type IdentityProviderChange = {
/** Must be in the `aud` of upstream tokens, alone or with others. */
audience?: string;
/** The address of the JWKS document; empty uses discovery. */
jwksUri?: string;
subjectClaim?: string;
externalIdClaim?: string;
groupClaim?: string;
/** The claim with the name of a person, used at the first sign-in only. If it is empty or absent in a token, the name consists of the provider and the external id. */
displayNameClaim?: string;
/** Upstream group to key of a group of the tenant; other groups are ignored. */
groupMappings?: Record<string, string>;
/** The `acr` must be one of these. */
requiredAcrValues?: string[];
/** The `amr` must contain all of these. */
requiredAmrValues?: string[];
/** Claims that each token must have, with the values allowed for each, for instance `{"repository_owner": ["acme"]}`. Required if the issuer is shared with other customers, as with hosted CI services, because it signs tokens for any audience. */
requiredClaims?: Record<string, string[]>;
/** The clients for which an upstream token may be issued: its `azp` must be one of them, or, without `azp`, its only `aud`. Empty allows any client. */
authorizedParties?: string[];
/** `managed` allows manual links and SCIM. */
lifecycleProfile?: "read_only" | "managed";
/** The kind of principal that a first sign-in creates. `workload`, for tokens of programs such as CI jobs, creates workloads, and also lets linked agents and workloads exchange such tokens. Existing principals keep their kind. */
principalKind?: "human" | "workload";
/** The cache time of keys. */
jwksCacheTtlSeconds?: number;
/** The additional time for which cached keys are used while the provider does not respond. */
jwksStaleGraceSeconds?: number;
};

/** RFC 3339 with any offset; without one, UTC. A date alone means its first moment in UTC. */
export type Instant = string;

export type Introspection = {
tenantId: Uuid;
principalId: Uuid;
principalKind: "human" | "agent" | "service_account" | "workload";
displayName: string;
credentialId: Uuid;
name: string;
publicPrefix: string;
audiences: string[];
scopeCeiling: string[];
expiresAt: Timestamp;
issuedAt: Timestamp;
};

export type IntrospectionRequest = {
/** The secret of a platform access token, or an imported key. */
token: string;
};

export type IssuedProvisioningToken = {
id: Uuid;
name: string;
publicPrefix: string;
createdAt: Timestamp;
expiresAt: Timestamp;
/** The secret, only in the first response. */
token: string | null;
};

export type IssuedToken = {
credential: PlatformAccessToken;
/** The secret, only in the first response. */
token: string | null;
};

export type JournalEvent = {
sequence: number;
id: Uuid;
tenant_id: Uuid;
type: string;
aggregate_type: string;
aggregate_id: Uuid;
payload: Record<string, unknown>;
occurred_at: Timestamp;
};

export type JournalEventPage = {
items: JournalEvent[];
/** The start of the next page; null on the last page. */
next_after: number | null;
};

export type JsonWebKey = {
kty: "RSA";
use: "sig";
alg: "RS256";
kid: string;
/** The modulus, base64url. */
n: string;
/** The exponent, base64url. */
e: string;
} | {
kty: "EC";
use: "sig";
alg: "ES256";
kid: string;
crv: "P-256";
/** The point, or its first coordinate, base64url. */
x: string;
/** The second coordinate, base64url. */
y: string;
} | {
kty: "OKP";
use: "sig";
alg: "EdDSA";
kid: string;
crv: "Ed25519";
/** The point, or its first coordinate, base64url. */
x: string;
};

export type JsonWebKeySet = {
keys: JsonWebKey[];
};

export type LegacyCredentialImport = {
principalId: Uuid;
name: string;
/** The public part of the key, hexadecimal. */
keyPrefix: string;
/** SHA-256 of the whole key, hexadecimal. The key itself is never sent. */
keyHash: string;
audience: string;
scopeCeiling?: string[];
expiresInSeconds: number;
};

export type Liveness = {
status: "ok";
};

export type NewAudience = {
key: string;
allowedScopes?: string[];
/** The algorithm that signs its access tokens. Algorithms other than RS256 require a key from the operator and consumers that accept them. */
signingAlgorithm?: "RS256" | "ES256" | "EdDSA";
};

export type NewAuthenticationContext = {
issuer: string;
acr?: string | null;
amr?: string[];
/** The time of the sign-in; never later than now. */
authTime?: Instant | null;
externalIdentityId?: Uuid | null;
};

export type NewExternalIdentity = {
issuer: string;
subject: string;
};

export type NewGroup = {
key: string;
name: string;
};

export type NewGroupMember = {
principalId: Uuid;
};

export type NewIdentityProvider = {
/** The key that clients send as `identityProvider`. */
key: string;
/** The `iss` of upstream tokens: an http or https address. */
issuer: string;
/** Must be in the `aud` of upstream tokens, alone or with others. */
audience: string;
/** The address of the JWKS document; empty uses discovery. */
jwksUri?: string;
subjectClaim?: string;
externalIdClaim?: string;
groupClaim?: string;
/** The claim with the name of a person, used at the first sign-in only. If it is empty or absent in a token, the name consists of the provider and the external id. */
displayNameClaim?: string;
/** Upstream group to key of a group of the tenant; other groups are ignored. */
groupMappings?: Record<string, string>;
/** The `acr` must be one of these. */
requiredAcrValues?: string[];
/** The `amr` must contain all of these. */
requiredAmrValues?: string[];
/** Claims that each token must have, with the values allowed for each, for instance `{"repository_owner": ["acme"]}`. Required if the issuer is shared with other customers, as with hosted CI services, because it signs tokens for any audience. */
requiredClaims?: Record<string, string[]>;
/** The clients for which an upstream token may be issued: its `azp` must be one of them, or, without `azp`, its only `aud`. Empty allows any client. */
authorizedParties?: string[];
/** `managed` allows manual links and SCIM. */
lifecycleProfile?: "read_only" | "managed";
/** The kind of principal that a first sign-in creates. `workload`, for tokens of programs such as CI jobs, creates workloads, and also lets linked agents and workloads exchange such tokens. Existing principals keep their kind. */
principalKind?: "human" | "workload";
/** The cache time of keys. */
jwksCacheTtlSeconds?: number;
/** The additional time for which cached keys are used while the provider does not respond. */
jwksStaleGraceSeconds?: number;
};

export type NewPlatformAccessToken = {
name: string;
audiences: string[];
scopeCeiling?: string[];
expiresInSeconds?: number | null;
};

export type NewPrincipal = {
kind: "human" | "agent" | "service_account" | "workload";
displayName: string;
};

export type NewProvisioningSource = {
key: string;
kind?: "scim" | "ldap";
/** The key of the provider whose people it provisions. */
identityProvider: string;
/** The principal whose access tokens may write; required for `scim`. */
servicePrincipalId?: Uuid | null;
/** The protocol for writing new, enabled and disabled users to the directory first; `auto` tries SCIM, then the admin API. Requires upstreamBaseUrl, upstreamRealm and credentials in the settings. */
upstreamMode?: "off" | "scim" | "admin" | "auto";
upstreamBaseUrl?: string;
upstreamRealm?: string;
/** The time without contact after which the source is stale. */
staleAfterSeconds?: number;
};

export type NewProvisioningToken = {
name: string;
expiresInSeconds?: number;
};

export type NewServiceAccount = {
displayName: string;
audiences: string[];
scopeCeiling?: string[];
};

export type NewTenant = {
slug: string;
name: string;
/** A client-chosen identifier. */
id?: Uuid | null;
};

export type NotReady = {
database: boolean;
signingKey: boolean;
detail: "unavailable";
};

export type OauthError = {
error: string;
/** The page that describes the code, if the operator has set its address. */
error_uri?: string;
};

export type OauthIntrospection = {
active: boolean;
token_type?: "Bearer" | "platform_access_token";
iss?: string;
/** The principal. */
sub?: string;
/** One of the audiences of the client. */
aud?: string | string[];
client_id?: string;
scope?: string;
/** Seconds since 1970. */
exp?: number;
/** Seconds since 1970. */
iat?: number;
/** Seconds since 1970. */
nbf?: number;
jti?: string;
tenant_id?: string;
principal_type?: string;
credential_id?: string;
};

export type OauthToken = {
access_token: string;
/** Of a token exchange. */
issued_token_type?: "urn:ietf:params:oauth:token-type:access_token";
token_type: "Bearer";
/** Seconds. */
expires_in: number;
scope: string;
};

export type OauthTokenQuery = {
token: string;
token_type_hint?: string;
client_id?: string;
client_secret?: string;
};

export type OauthTokenRequest = {
/** client_credentials, or urn:ietf:params:oauth:grant-type:token-exchange (RFC 8693). */
grant_type: string;
client_id?: string;
client_secret?: string;
/** Or `resource`. */
audience?: string;
/** The address of a service (IAM_RESOURCES), or an audience (RFC 8707). */
resource?: string;
/** The scopes to grant, separated by spaces. Without it, a client gets none, and a token gets all scopes that it allows. */
scope?: string;
/** A platform access token, or an imported key. */
subject_token?: string;
/** urn:ietf:params:oauth:token-type:access_token */
subject_token_type?: string;
/** urn:ietf:params:oauth:token-type:access_token */
requested_token_type?: string;
/** Not supported. */
actor_token?: string;
};

export type PlatformAccessToken = {
id: Uuid;
tenantId: Uuid;
principalId: Uuid;
name: string;
kind: "platform_access_token" | "legacy_control_plane_api_key";
publicPrefix: string;
audiences: string[];
scopeCeiling: string[];
createdAt: Timestamp;
expiresAt: Timestamp;
lastUsedAt: Timestamp | null;
revokedAt: Timestamp | null;
/** Empty while the token is active. */
revokeReason: string;
rotatedFromId: Uuid | null;
};

export type PlatformAccessTokenRotation = Record<string, never>;

export type Principal = {
id: Uuid;
kind: "human" | "agent" | "service_account" | "workload";
display_name: string;
status: "active" | "paused" | "disabled";
created_at: Timestamp;
};

export type PrincipalChange = {
displayName: string;
};

export type PrincipalPage = {
items: Principal[];
/** The cursor of the next page, for `after`; null on the last page. */
next_after: string | null;
};

export type Problem = {
type: string;
/** The location, starting with `body`, `query`, `path` or `header`. */
loc: Array<string | number>;
/** A message for people, which never repeats the value. */
msg: string;
};

export type ProvisioningSource = {
id: Uuid;
key: string;
kind: "scim" | "ldap";
identityProviderId: Uuid;
servicePrincipalId: Uuid | null;
upstreamMode: "off" | "scim" | "admin" | "auto";
status: "active" | "disabled";
staleAfterSeconds: number;
lastSyncAt: Timestamp | null;
/** Whether the source is active and has had no contact for longer than `staleAfterSeconds`. */
stale: boolean;
};

export type ProvisioningSourceChange = {
/** The protocol for writing new, enabled and disabled users to the directory first; `auto` tries SCIM, then the admin API. Requires upstreamBaseUrl, upstreamRealm and credentials in the settings. */
upstreamMode?: "off" | "scim" | "admin" | "auto";
upstreamBaseUrl?: string;
upstreamRealm?: string;
/** The time without contact after which the source is stale. */
staleAfterSeconds?: number;
};

export type ProvisioningToken = {
id: Uuid;
name: string;
publicPrefix: string;
createdAt: Timestamp;
expiresAt: Timestamp;
revokedAt: Timestamp | null;
};

export type Ready = {
database: boolean;
signingKey: boolean;
status: "ready";
};

export type RevocationList = {
/** Seconds since 1970: every token with an earlier `iat` is revoked. 0 unless the revocations exceed the size of the list. */
not_before: number;
revoked: Array<{
/** The hash of the lower-case UUID of a principal (`sub`), a credential (`credential_id`) or a tenant (`tenant_id`); for an identity provider, the hash of `tenant_id`, a space and `client_id`. In base64url. */
sha256: string;
/** Tokens with an earlier `iat` are revoked; null means all tokens. */
not_before: number | null;
}>;
};

export type ScimError = {
schemas: string[];
status: string;
scimType?: string;
detail: string;
};

export type ScimGroup = Record<string, unknown>;

export type ScimListResponse = Record<string, unknown>;

export type ScimPatch = Record<string, unknown>;

export type ScimResourceType = Record<string, unknown>;

export type ScimSchema = Record<string, unknown>;

export type ScimSearch = Record<string, unknown>;

export type ScimServiceProviderConfig = Record<string, unknown>;

export type ScimUser = Record<string, unknown>;

export type SelfRevocation = {
/** The secret of a platform access token, or an imported key. */
token: string;
reason?: string;
};

export type ServiceAccount = {
principalId: Uuid;
clientId: string;
displayName: string;
audiences: string[];
scopeCeiling: string[];
/** The status of the account; its principal can also be disabled. */
status: "active" | "revoked";
createdAt: Timestamp;
revokedAt: Timestamp | null;
lastUsedAt: Timestamp | null;
};

export type ServiceAccountChange = {
audiences?: string[];
scopeCeiling?: string[];
rotateSecret?: boolean;
};

export type ServiceAccountPage = {
items: ServiceAccount[];
/** The cursor of the next page, for `after`; null on the last page. */
nextAfter: string | null;
};

export type Tenant = {
id: Uuid;
slug: string;
name: string;
status: "active" | "disabled";
created_at: Timestamp;
};

export type TenantChange = {
name?: string;
/** `disabled` closes every credential of the tenant at once. */
status?: "active" | "disabled";
};

export type TenantPage = {
items: Tenant[];
/** The cursor of the next page, for `after`; null on the last page. */
next_after: string | null;
};

/** RFC 3339, UTC, milliseconds. */
export type Timestamp = string;

export type TokenExchange = {
accessToken: string;
tokenType: "Bearer";
/** Seconds. */
expiresIn: number;
audience: string;
scope: string[];
sessionId: Uuid;
};

export type TokenExchangeRequest = {
/** The secret of a platform access token, or an imported key. */
token: string;
audience: string;
/** Empty for all scopes that the token allows. */
scopes?: string[];
};

export type Uuid = string;
