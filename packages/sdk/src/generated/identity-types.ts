// GENERATED from the OpenAPI documents by: npm run generate

export type AgentConnector = {
personId: Uuid;
displayName: string;
createdAt: Timestamp;
};

export type AgentConnectorList = {
items: AgentConnector[];
};

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
authorization_endpoint: string;
device_authorization_endpoint: string;
token_endpoint: string;
jwks_uri: string;
response_types_supported: string[];
response_modes_supported: string[];
/** Of clients of people; an audience may allow further ones. */
scopes_supported: string[];
code_challenge_methods_supported: string[];
/** RFC 9207. */
authorization_response_iss_parameter_supported: boolean;
client_id_metadata_document_supported: boolean;
grant_types_supported: string[];
token_endpoint_auth_methods_supported: string[];
introspection_endpoint: string;
introspection_endpoint_auth_methods_supported: string[];
revocation_endpoint: string;
revocation_endpoint_auth_methods_supported: string[];
service_documentation: string;
};

export type BrowserSession = {
id: Uuid;
tenantId: Uuid;
principalId: Uuid;
/** The passkey that began it; null after a sign-in through a provider. */
passkeyId: Uuid | null;
clientId: string;
publicPrefix: string;
acr: string | null;
amr: string[];
authTime: Timestamp;
createdAt: Timestamp;
lastUsedAt: Timestamp;
/** It ends then, however often it is used. */
expiresAt: Timestamp;
/** It ends then unless it is used before. */
idleExpiresAt: Timestamp;
};

export type BrowserSessionEnd = {
/** The secret of a browser session: `iam_ses_…`. */
token: string;
reason?: string;
};

export type BrowserSessionExchangeRequest = {
/** The secret of a browser session: `iam_ses_…`. */
token: string;
audience: string;
/** Empty: all that the audience allows, without the privileged ones. */
scopes?: string[];
};

export type BrowserSessionList = {
items: BrowserSession[];
};

export type BrowserSessionRequest = {
/** The secret of a browser session: `iam_ses_…`. */
token: string;
};

export type ChangedServiceAccount = {
principalId: Uuid;
clientId: string;
audiences: string[];
scopeCeiling: string[];
/** Present only if it was replaced. */
clientSecret?: string;
};

export type ClaimCondition = {
equals: string;
} | {
/** The value begins with it. */
prefix: string;
} | {
oneOf: string[];
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

export type CreatedPasskey = {
/** The `state` of the options that the browser got. */
state: string;
credential: NewPasskeyCredential;
name: string;
};

export type CreatedServiceAccount = {
principalId: Uuid;
clientId: string;
clientSecret: string;
};

export type DeviceAuthorization = {
device_code: string;
user_code: string;
verification_uri: string;
verification_uri_complete: string;
/** Seconds. */
expires_in: number;
/** Seconds between two polls. */
interval: number;
};

export type DeviceAuthorizationRequest = {
client_id?: string;
scope?: string;
resource?: string;
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
/** The field of the body that is refused, for some codes. */
field?: string;
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
/** A signed statement that the provider admits the person, for `POST /admissions:self` of coordination; valid for 60 seconds. */
admissionStatement: string | null;
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
/** Return an admission statement if the provider admits the person by itself. */
withAdmission?: boolean;
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
/** The uploaded keys; null: they are fetched. */
key_set: {
keys: Array<{
kty: "RSA" | "EC" | "OKP";
kid?: string;
use?: string;
key_ops?: string[];
alg?: string;
n?: string;
e?: string;
crv?: string;
x?: string;
y?: string;
}>;
} | null;
subject_claim: string;
external_id_claim: string;
group_claim: string;
display_name_claim: string;
email_claim: string;
unknown_people: "create" | "request";
admit: ProviderAdmission | null;
offered: boolean;
own_issuer: boolean;
group_mappings: Record<string, string>;
required_acr_values: string[];
required_amr_values: string[];
required_claims: Record<string, string[]>;
authorized_parties: string[];
lifecycle_profile: "read_only" | "managed";
principal_kind: "human" | "workload" | "none";
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
/** The JWKS document of an issuer that can not be reached, such as that of a private Kubernetes cluster; no keys are fetched then. Replace it when the issuer rotates its keys. null: keys are fetched. */
keySet?: {
keys: Array<{
kty: "RSA" | "EC" | "OKP";
kid?: string;
use?: string;
key_ops?: string[];
alg?: string;
n?: string;
e?: string;
crv?: string;
x?: string;
y?: string;
ext?: boolean;
x5u?: string;
x5c?: string[];
x5t?: string;
"x5t#S256"?: string;
}>;
spiffe_sequence?: number;
spiffe_refresh_hint?: number;
} | null;
subjectClaim?: string;
externalIdClaim?: string;
groupClaim?: string;
/** The claim with the name of a person, used at the first sign-in only. If it is empty or absent in a token, the name consists of the provider and the external id. */
displayNameClaim?: string;
/** The claim with the e-mail address of a person with a sign-in request. It counts as verified only if it is `email` and the token has `email_verified: true`. */
emailClaim?: string;
/** The result of the first sign-in of an unknown person: `create` makes a principal, `request` a sign-in request that an administrator admits or refuses. */
unknownPeople?: "create" | "request";
/** The unknown people who are admitted without an administrator. Each list that is present must match. Coordination gives the role only if its own administrator allowed it. */
admit?: ProviderAdmissionInput | null;
/** Whether the console's sign-in page has a button for the provider; `audience` is then the console's client id there. */
offered?: boolean;
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
/** The kind of principal that a first sign-in creates. `workload`, for tokens of programs such as CI jobs, creates workloads, and also lets linked agents and workloads exchange such tokens. `none` lets nobody sign in: tokens are accepted by workload rules only. Existing principals keep their kind. */
principalKind?: "human" | "workload" | "none";
/** The issuer signs tokens for programs of your organization only, so a workload rule may have any condition. Otherwise a rule must fix a subject or an owner, unless the keys are uploaded. */
ownIssuer?: boolean;
/** The cache time of keys. */
jwksCacheTtlSeconds?: number;
/** The additional time for which cached keys are used while the provider does not respond. */
jwksStaleGraceSeconds?: number;
/** The new `iss` of its tokens. Pending sign-in requests of the provider end. */
issuer?: string;
/** Required to change the issuer of a provider with linked people. `move`: they sign in at the new issuer, with the same subjects; only if it is the same authority. `detach`: nobody of them can sign in through the provider any more. */
linkedPeople?: "move" | "detach";
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

export type Invitation = {
id: Uuid;
tenantId: Uuid;
principalId: Uuid;
kind: "invitation" | "recovery";
/** Of the person. */
displayName: string;
email: string | null;
/** As the inviter named it; identity gives no rights for it. */
role: string | null;
invitedBy: string;
message: string;
replacesCredentials: boolean;
publicPrefix: string;
status: "open" | "accepted" | "revoked" | "expired";
createdAt: Timestamp;
expiresAt: Timestamp;
acceptedAt: Timestamp | null;
acceptedBy: "passkey" | "identity_provider" | null;
revokedAt: Timestamp | null;
revokeReason: string;
};

export type InvitationAcceptance = {
/** The secret of the link: `iam_inv_…`. */
token: string;
passkey?: CreatedPasskey;
federation?: FederatedSignInRequest;
};

export type InvitationPage = {
items: Invitation[];
/** The cursor of the next page, for `after`; null on the last page. */
next_after: string | null;
};

export type InvitationRequest = {
/** The secret of the link: `iam_inv_…`. */
token: string;
};

export type IssuedAdministrationToken = {
/** The secret, `iam_adm_…`: in this response only. */
token: string;
id: Uuid;
tenantId: Uuid;
principalId: Uuid;
/** When the person signed in. */
authTime: Timestamp;
expiresAt: Timestamp;
};

export type IssuedInvitation = {
invitation: Invitation;
/** The secret of the link: in this response only. */
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

export type NewAdministrationToken = {
/** The person. */
principalId: Uuid;
/** `credential_id` of the person's access token: their browser session, or their identity at a provider. */
credentialId: Uuid;
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
/** The JWKS document of an issuer that can not be reached, such as that of a private Kubernetes cluster; no keys are fetched then. Replace it when the issuer rotates its keys. null: keys are fetched. */
keySet?: {
keys: Array<{
kty: "RSA" | "EC" | "OKP";
kid?: string;
use?: string;
key_ops?: string[];
alg?: string;
n?: string;
e?: string;
crv?: string;
x?: string;
y?: string;
ext?: boolean;
x5u?: string;
x5c?: string[];
x5t?: string;
"x5t#S256"?: string;
}>;
spiffe_sequence?: number;
spiffe_refresh_hint?: number;
} | null;
subjectClaim?: string;
externalIdClaim?: string;
groupClaim?: string;
/** The claim with the name of a person, used at the first sign-in only. If it is empty or absent in a token, the name consists of the provider and the external id. */
displayNameClaim?: string;
/** The claim with the e-mail address of a person with a sign-in request. It counts as verified only if it is `email` and the token has `email_verified: true`. */
emailClaim?: string;
/** The result of the first sign-in of an unknown person: `create` makes a principal, `request` a sign-in request that an administrator admits or refuses. */
unknownPeople?: "create" | "request";
/** The unknown people who are admitted without an administrator. Each list that is present must match. Coordination gives the role only if its own administrator allowed it. */
admit?: ProviderAdmissionInput | null;
/** Whether the console's sign-in page has a button for the provider; `audience` is then the console's client id there. */
offered?: boolean;
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
/** The kind of principal that a first sign-in creates. `workload`, for tokens of programs such as CI jobs, creates workloads, and also lets linked agents and workloads exchange such tokens. `none` lets nobody sign in: tokens are accepted by workload rules only. Existing principals keep their kind. */
principalKind?: "human" | "workload" | "none";
/** The issuer signs tokens for programs of your organization only, so a workload rule may have any condition. Otherwise a rule must fix a subject or an owner, unless the keys are uploaded. */
ownIssuer?: boolean;
/** The cache time of keys. */
jwksCacheTtlSeconds?: number;
/** The additional time for which cached keys are used while the provider does not respond. */
jwksStaleGraceSeconds?: number;
};

export type NewInvitation = {
/** Of a new person; required without `principalId`. */
displayName?: string | null;
/** Where the inviter sends the link. Identity sends nothing. */
email?: string | null;
/** Passed on to the service that gives the rights. */
role?: string | null;
/** A person of the tenant, instead of a new one. */
principalId?: Uuid | null;
/** Who invites, as the person will read it. */
invitedBy?: string;
/** A few words for the person. */
message?: string;
expiresInSeconds?: number;
};

export type NewOauthClient = {
name: string;
/** Compared character by character; on the loopback address the port may differ (RFC 8252, section 7.3). */
redirectUris: string[];
};

export type NewPasskeyCredential = {
id: string;
rawId: string;
type: "public-key";
response: {
clientDataJSON: string;
attestationObject: string;
transports?: string[];
};
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

export type NewRecoveryLink = {
/** Who invites, as the person will read it. */
invitedBy?: string;
/** A few words for the person. */
message?: string;
expiresInSeconds?: number;
/** Accepting the link removes the other passkeys of the person and ends their browser sessions: somebody else may have the lost ones. */
replaceCredentials?: boolean;
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

export type NewWorkloadRule = {
key: string;
/** The agent, workload or service account that matching tokens act as. */
principalId: Uuid;
/** What a token must claim, by the name of the claim or by a JSON Pointer into the token, for instance `{"repository_id": {"equals": "123456"}, "ref": {"equals": "refs/heads/main"}}`. All conditions must be met. */
claims: Record<string, ClaimCondition>;
/** The audiences that a token can be exchanged for. */
audiences: string[];
/** The scopes that an access token can have. */
scopeCeiling?: string[];
/** Each token is accepted once, by its `jti`, which it must have. */
singleUse?: boolean;
/** The longest lifetime (`exp` minus `iat`) of an accepted token. */
lifetimeSecondsMax?: number;
};

export type NotReady = {
database: boolean;
signingKey: boolean;
detail: "unavailable";
};

export type OauthClient = {
id: Uuid;
tenantId: Uuid;
/** The `client_id` of its requests. It has no secret. */
clientId: string;
name: string;
redirectUris: string[];
createdAt: Timestamp;
};

export type OauthClientList = {
items: OauthClient[];
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

export type OauthRequest = {
/** Who requests access. */
client: {
id: string;
/** As the client names itself. */
name: string;
/** `document`: only the host of its id is proven, by its metadata document. */
kind: "baton" | "registered" | "document";
/** The host of its metadata document. */
host: string | null;
/** Where the browser is sent, or the scheme of the application; null for a device. */
redirectHost: string | null;
};
/** Where the code was requested; null for a browser. */
device: {
address: string;
userAgent: string;
requestedAt: Timestamp;
} | null;
tenant: {
id: Uuid;
name: string;
};
person: {
id: Uuid;
name: string;
};
/** The agents as which the person may connect the client. */
agents: Array<{
id: Uuid;
name: string;
}>;
audience: string;
/** The name of the audience for people. */
service: string;
scopes: string[];
/** The active workspaces in which the client would have these rights as this person or agent, 20 at most; null if identity could not read them. */
workspaces: {
names: string[];
hasMore: boolean;
} | null;
/** Whether the sign-in is recent enough to allow the request; otherwise sign in again. */
isRecent: boolean;
};

export type OauthRequestDecided = {
/** Open it in the same browser; null for a device. */
redirectTo: string | null;
};

export type OauthRequestDecision = {
/** The secret of a browser session: `iam_ses_…`. */
token: string;
/** The authorization request, from the address of the page; or `userCode`. */
request?: string;
/** The code that a device shows; or `request`. */
userCode?: string;
decision: "allow" | "deny";
/** The agent as which the client acts, one of `agents`; absent, the person. */
principalId?: Uuid;
/** The ones that the person was shown, or fewer; absent, all that can be granted now. */
scopes?: string[];
/** Whether the session exists for this decision only. If it is allowed, the session then expires with the code: after 180 s, or after 600 s for a device. */
endsSession?: boolean;
};

export type OauthRequestQuery = {
/** The secret of a browser session: `iam_ses_…`. */
token: string;
/** The authorization request, from the address of the page; or `userCode`. */
request?: string;
/** The code that a device shows; or `request`. */
userCode?: string;
/** One of `agents`, whose workspaces are returned; absent, the person. */
principalId?: Uuid;
};

export type OauthToken = {
access_token: string;
/** Of a token exchange. */
issued_token_type?: "urn:ietf:params:oauth:token-type:access_token";
token_type: "Bearer";
/** Seconds. */
expires_in: number;
scope: string;
/** Of a grant of a person: replaces the one that was sent, which must not be used again. */
refresh_token?: string;
};

export type OauthTokenQuery = {
token: string;
token_type_hint?: string;
client_id?: string;
client_secret?: string;
};

export type OauthTokenRequest = {
/** client_credentials, authorization_code, refresh_token, urn:ietf:params:oauth:grant-type:token-exchange (RFC 8693), urn:ietf:params:oauth:grant-type:jwt-bearer (RFC 7523) or urn:ietf:params:oauth:grant-type:device_code (RFC 8628). */
grant_type: string;
client_id?: string;
client_secret?: string;
/** Or `resource`. */
audience?: string;
/** The address of a service (IAM_RESOURCES), or an audience (RFC 8707). */
resource?: string;
/** The scopes to grant, separated by spaces. Without it, a client gets none, and a token or an assertion gets all scopes that it allows. */
scope?: string;
/** A token that the platform of a workload has issued, such as a CI service (a signed JWT). */
assertion?: string;
/** The tenant of the workload rule; necessary if several tenants have a provider with this issuer and audience. */
tenant_id?: Uuid;
/** A platform access token, or an imported key. */
subject_token?: string;
/** urn:ietf:params:oauth:token-type:access_token */
subject_token_type?: string;
/** urn:ietf:params:oauth:token-type:access_token */
requested_token_type?: string;
/** An authorization code. */
code?: string;
/** RFC 7636. */
code_verifier?: string;
redirect_uri?: string;
refresh_token?: string;
device_code?: string;
/** Not supported. */
actor_token?: string;
};

export type OpenInvitation = {
kind: "invitation" | "recovery";
tenantName: string;
displayName: string;
invitedBy: string;
message: string;
role: string | null;
replacesCredentials: boolean;
expiresAt: Timestamp;
/** Keys of the providers by which it can be accepted. */
identityProviders: string[];
};

export type OtherBrowserSessionsEnd = {
/** The secret of a browser session: `iam_ses_…`. */
token: string;
reason?: string;
/** End the presented session, too. This requires no recent sign-in. */
withThis?: boolean;
};

export type OwnBrowserSessionEnd = {
/** The secret of a browser session: `iam_ses_…`. */
token: string;
browserSessionId: Uuid;
reason?: string;
};

export type OwnBrowserSessionList = {
items: BrowserSession[];
/** The session that was presented. */
currentId: Uuid;
};

export type OwnOauthGrant = {
/** The `credential_id` of its access tokens. */
id: Uuid;
/** The name of the client when access was granted. */
name: string;
clientId: string;
/** The agent as which the client acts; null if it acts as the person. */
agentId: Uuid | null;
agentName: string | null;
scopeCeiling: string[];
createdAt: Timestamp;
lastUsedAt: Timestamp | null;
expiresAt: Timestamp;
};

export type OwnOauthGrantEnd = {
/** The secret of a browser session: `iam_ses_…`. */
token: string;
grantId: Uuid;
reason?: string;
};

export type OwnOauthGrantList = {
items: OwnOauthGrant[];
};

export type OwnOauthGrantsRequest = {
/** The secret of a browser session: `iam_ses_…`. */
token: string;
};

export type OwnPasskeyChange = {
/** The secret of a browser session: `iam_ses_…`. */
token: string;
passkeyId: Uuid;
name: string;
};

export type OwnPasskeyRegistration = {
/** The secret of a browser session: `iam_ses_…`. */
token: string;
/** The `state` of the options that the browser got. */
state: string;
credential: NewPasskeyCredential;
name: string;
};

export type OwnPasskeyRequest = {
/** The secret of a browser session: `iam_ses_…`. */
token: string;
passkeyId: Uuid;
};

export type Passkey = {
id: Uuid;
principalId: Uuid;
name: string;
/** The device may copy it to other devices of the person. */
isSynced: boolean;
/** It was copied or backed up when it was last used. */
isBackedUp: boolean;
createdAt: Timestamp;
lastUsedAt: Timestamp | null;
};

export type PasskeyChange = {
name: string;
};

export type PasskeyList = {
items: Passkey[];
};

export type PasskeyOptions = {
/** The options of WebAuthn as JSON, for `PublicKeyCredential.parseCreationOptionsFromJSON` or `parseRequestOptionsFromJSON`. */
publicKey: Record<string, unknown>;
state: string;
};

export type PasskeySignInRequest = {
/** The `state` of the options that the browser got. */
state: string;
credential: UsedPasskeyCredential;
};

export type PlatformAccessToken = {
id: Uuid;
tenantId: Uuid;
principalId: Uuid;
name: string;
kind: "platform_access_token" | "legacy_control_plane_api_key" | "oauth_grant";
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

export type ProviderAdmission = {
domains: string[];
groups: string[];
role: string;
};

export type ProviderAdmissionInput = {
/** Domains of e-mail addresses, without their subdomains. Only a verified address counts. */
domains?: string[];
/** Names in the group claim, as the provider writes them; one of them is enough. */
groups?: string[];
/** The key of an access role of coordination; never one with `admin`. */
role: string;
};

export type ProviderTest = {
issuer: string;
audience: string;
steps: ProviderTestStep[];
/** The claims of the token; null without a valid one. */
person: {
subject: string;
displayName: string | null;
email: string | null;
emailVerified: boolean;
/** The first 50 of the group claim. */
groups: string[];
} | null;
/** The result of a sign-in with this token; null without a valid one. */
outcome: {
result: "signs_in" | "created" | "admitted" | "requested" | "refused";
/** Of a refusal. */
code: string | null;
/** The role with which the provider admits the person. */
role: string | null;
} | null;
};

export type ProviderTestRequest = {
/** Tested instead of the registered one, before it is changed. */
issuer?: string;
/** Tested instead of the registered one. */
audience?: string;
/** The address to which the provider redirects; without it the step is skipped. */
redirectUri?: string;
/** An ID token of the provider; without it the steps `token` and `claims` are skipped. */
token?: string;
};

export type ProviderTestStep = {
step: "discovery" | "keys" | "redirect" | "token" | "claims";
status: "passed" | "failed" | "skipped";
/** Of a failed step: the refusal, or the kind of failure. */
code: string | null;
detail: string;
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

export type SignInRefusal = {
reason?: string;
/** How long the person cannot make another request. */
forSeconds?: number;
};

export type SignInRequest = {
id: Uuid;
tenantId: Uuid;
identityProvider: string;
/** The id that the principal gets if the person is admitted. */
principalId: Uuid;
/** As the provider states it, without control characters. */
displayName: string;
email: string | null;
emailVerified: boolean;
issuer: string;
subject: string;
status: "pending" | "admitted" | "refused" | "expired";
attempts: number;
createdAt: Timestamp;
lastAttemptAt: Timestamp;
/** Of a refused request: until then the person cannot make another. */
expiresAt: Timestamp;
decidedAt: Timestamp | null;
decisionReason: string;
};

export type SignInRequestPage = {
items: SignInRequest[];
/** The cursor of the next page, for `after`; null on the last page. */
next_after: string | null;
};

export type StartedBrowserSession = {
/** The secret: in this response only. */
token: string;
session: BrowserSession;
displayName: string;
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

export type UsedPasskeyCredential = {
id: string;
rawId: string;
type: "public-key";
response: {
clientDataJSON: string;
authenticatorData: string;
signature: string;
userHandle?: string | null;
};
};

export type Uuid = string;

export type WorkloadRule = {
/** The `credential_id` of its access tokens. */
id: Uuid;
key: string;
/** The key of the provider. */
identityProvider: string;
principalId: Uuid;
claims: Record<string, ClaimCondition>;
audiences: string[];
scopeCeiling: string[];
singleUse: boolean;
lifetimeSecondsMax: number;
status: "active" | "disabled";
createdAt: Timestamp;
/** When it last gave an access token, to within `IAM_PAT_LAST_USED_INTERVAL_SECONDS`. */
lastUsedAt: Timestamp | null;
};

export type WorkloadRuleChange = {
/** The agent, workload or service account that matching tokens act as. */
principalId?: Uuid;
/** What a token must claim, by the name of the claim or by a JSON Pointer into the token, for instance `{"repository_id": {"equals": "123456"}, "ref": {"equals": "refs/heads/main"}}`. All conditions must be met. */
claims?: Record<string, ClaimCondition>;
/** The audiences that a token can be exchanged for. */
audiences?: string[];
/** The scopes that an access token can have. */
scopeCeiling?: string[];
/** Each token is accepted once, by its `jti`, which it must have. */
singleUse?: boolean;
/** The longest lifetime (`exp` minus `iat`) of an accepted token. */
lifetimeSecondsMax?: number;
};
