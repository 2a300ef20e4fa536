// GENERATED from the OpenAPI documents by: npm run generate

import type { CallOptions } from '../call.ts';
import type {
AgentConnectorList,
Audience,
AudienceChange,
AuditRecordPage,
AuthenticationContext,
AuthorizationServerMetadata,
BrowserSessionEnd,
BrowserSessionExchangeRequest,
BrowserSessionList,
BrowserSessionRequest,
ChangedServiceAccount,
ClientExchange,
ClientExchangeRequest,
CreatedGroup,
CreatedServiceAccount,
DeviceAuthorization,
DeviceAuthorizationRequest,
DisabledPrincipal,
EnabledPrincipal,
ExternalIdentity,
FederatedSignIn,
FederatedSignInRequest,
FederatedToken,
FederatedTokenRequest,
Group,
GroupChange,
GroupMemberPage,
GroupMembership,
GroupPage,
IdentityProvider,
IdentityProviderChange,
Instant,
Introspection,
IntrospectionRequest,
Invitation,
InvitationAcceptance,
InvitationPage,
InvitationRequest,
IssuedAdministrationToken,
IssuedInvitation,
IssuedProvisioningToken,
IssuedToken,
JournalEventPage,
JsonWebKeySet,
LegacyCredentialImport,
NewAdministrationToken,
NewAudience,
NewAuthenticationContext,
NewExternalIdentity,
NewGroup,
NewGroupMember,
NewIdentityProvider,
NewInvitation,
NewOauthClient,
NewPlatformAccessToken,
NewPrincipal,
NewProvisioningSource,
NewProvisioningToken,
NewRecoveryLink,
NewServiceAccount,
NewTenant,
NewWorkloadRule,
OauthClient,
OauthClientList,
OauthIntrospection,
OauthRequest,
OauthRequestDecided,
OauthRequestDecision,
OauthRequestQuery,
OauthToken,
OauthTokenQuery,
OauthTokenRequest,
OpenInvitation,
OtherBrowserSessionsEnd,
OwnBrowserSessionEnd,
OwnBrowserSessionList,
OwnOauthGrantEnd,
OwnOauthGrantList,
OwnOauthGrantsRequest,
OwnPasskeyChange,
OwnPasskeyRegistration,
OwnPasskeyRequest,
Passkey,
PasskeyChange,
PasskeyList,
PasskeyOptions,
PasskeySignInRequest,
PlatformAccessToken,
PlatformAccessTokenRotation,
Principal,
PrincipalChange,
PrincipalPage,
ProviderTest,
ProviderTestRequest,
ProvisioningSource,
ProvisioningSourceChange,
ProvisioningToken,
RevocationList,
ScimGroup,
ScimListResponse,
ScimPatch,
ScimResourceType,
ScimSchema,
ScimSearch,
ScimServiceProviderConfig,
ScimUser,
SelfRevocation,
ServiceAccount,
ServiceAccountChange,
ServiceAccountPage,
SignInRefusal,
SignInRequest,
SignInRequestPage,
StartedBrowserSession,
Tenant,
TenantChange,
TenantPage,
TokenExchange,
TokenExchangeRequest,
Uuid,
WorkloadRule,
WorkloadRuleChange
} from './identity-types.ts';

export interface PlatformAccessTokensApi {
/** Exchange a token for a short-lived access token for one audience. `POST /api/v1/platform-access-tokens:exchange` */
exchange(body: TokenExchangeRequest, options?: CallOptions): Promise<TokenExchange>;
/** Introspect a token, without changing its last use. `POST /api/v1/platform-access-tokens:introspect` */
introspect(body: IntrospectionRequest, options?: CallOptions): Promise<Introspection>;
/** Revoke the token that is presented. `POST /api/v1/platform-access-tokens:revoke-self` */
revokeOwn(body: SelfRevocation, options?: CallOptions): Promise<undefined>;
/** List the tokens of a tenant by creation, including expired ones. Returns all of them unless `limit` is set. With `limit`, a `Link` header with `rel="next"` points to the next page, if any. `GET /api/v1/tenants/{tenantId}/platform-access-tokens` */
list(tenantId: string, query?: {
principalId?: Uuid;
includeRevoked?: boolean;
limit?: number;
/** The cursor of the previous page; absent for the first page. */
after?: string;
}, options?: CallOptions): Promise<PlatformAccessToken[]>;
/** Read a token; its secret is never shown again. `GET /api/v1/tenants/{tenantId}/platform-access-tokens/{credentialId}` */
get(tenantId: string, credentialId: string, options?: CallOptions): Promise<PlatformAccessToken>;
/** Revoke a token. Revoking it again changes nothing and keeps the first reason. `POST /api/v1/tenants/{tenantId}/platform-access-tokens/{credentialId}:revoke` */
revoke(tenantId: string, credentialId: string, query?: {
reason?: string;
}, options?: CallOptions): Promise<undefined>;
/** Replace a token with a successor with the same audiences, ceiling and expiry; its secret is shown once. `POST /api/v1/tenants/{tenantId}/platform-access-tokens/{credentialId}:rotate` */
rotate(tenantId: string, credentialId: string, body?: PlatformAccessTokenRotation, options?: CallOptions): Promise<IssuedToken>;
}

export interface TokensApi {
/** Exchange client credentials for a short-lived access token for one audience. `POST /api/v1/tokens/exchange` */
exchange(body: ClientExchangeRequest, options?: CallOptions): Promise<ClientExchange>;
}

export interface KeysApi {
/** Read the metadata of the authorization server (RFC 8414). Also served at this path followed by the issuer's path, as the standard requires. `GET /.well-known/oauth-authorization-server` */
getServerMetadata(options?: CallOptions): Promise<AuthorizationServerMetadata>;
/** Read the public signing keys as a JWKS document. Contains exactly one RSA key, unless the operator rotates it with an overlap (then the next and the previous key follow the signing key), or an audience has a `signingAlgorithm` other than RS256 (then its keys follow those). Ignore keys of a type that you do not use. Cache the document, and fetch it again when a token has an unknown `kid`. Without a configured signing key, the response is 500. `GET /.well-known/jwks.json` */
list(options?: CallOptions): Promise<JsonWebKeySet>;
/** Read the list of revocations that apply to access tokens. For services that verify access tokens themselves. Read the list about every second, and reject the tokens that it covers. An entry remains for the lifetime of an access token plus two minutes. Ids are hashed. `GET /.well-known/revocations.json` */
listRevocations(options?: CallOptions): Promise<RevocationList>;
}

export interface Oauth2Api {
/** Get an access token: with client credentials, with a grant from a person (RFC 6749, RFC 8628), for a platform access token (RFC 8693), or for a token of a workload (RFC 7523). Clients authenticate with client_secret_basic or client_secret_post; a token exchange and an assertion need no client authentication. Clients of people are public: they send their `client_id`. `resource` (RFC 8707) may replace `audience`. Errors have the format of RFC 6749. `POST /oauth2/token` */
grant(body: OauthTokenRequest, options?: CallOptions): Promise<OauthToken>;
/** Check whether an access token or a platform access token is valid (RFC 7662). A service account sees the tokens of its tenant for one of its audiences; for everything else the response is `{"active": false}`. `POST /oauth2/introspect` */
introspect(body: OauthTokenQuery, options?: CallOptions): Promise<OauthIntrospection>;
/** Revoke a platform access token or a refresh token (RFC 7009). An unknown token gets the same response. The holder of a token may revoke it; a refresh token ends with its grant and all its access tokens; client credentials are validated if they are sent. An access token cannot be revoked by itself: it expires, or is revoked with the credential that it was exchanged for. `POST /oauth2/revoke` */
revoke(body: OauthTokenQuery, options?: CallOptions): Promise<undefined>;
/** Request access for an OAuth client through the browser of a person (RFC 6749, with PKCE). Redirects the browser to the page where the person signs in and decides, or back to the client with an error. An unknown client or redirect address gets a page instead. `GET /oauth2/authorize` */
explainAuthorization(query?: {
/** `code`. */
response_type?: string;
client_id?: string;
redirect_uri?: string;
scope?: string;
state?: string;
code_challenge?: string;
/** `S256`. */
code_challenge_method?: string;
/** The address of a service (IAM_RESOURCES). */
resource?: string;
prompt?: string;
}, options?: CallOptions): Promise<undefined>;
/** Send the browser back to the OAuth client after the decision. Works only once, and only in the browser that began the request. `GET /oauth2/resume` */
resumeOauthAuthorization(query?: {
decision?: string;
}, options?: CallOptions): Promise<undefined>;
/** The page where a person signs in and decides about an OAuth client. `GET /oauth2/interaction` */
getOauthPage(options?: CallOptions): Promise<string>;
/** The page where a person enters the code that a device shows (RFC 8628). `GET /oauth2/device` */
getDevicePage(options?: CallOptions): Promise<string>;
/** Request a code that a person enters in a browser on another machine (RFC 8628). `POST /oauth2/device-authorization` */
authorizeDevice(body?: DeviceAuthorizationRequest, options?: CallOptions): Promise<DeviceAuthorization>;
}

export interface TenantsApi {
/** Create a tenant. `POST /api/v1/tenants` */
create(body: NewTenant, options?: CallOptions): Promise<Tenant>;
/** List the tenants in the order of their creation. `GET /api/v1/tenants` */
list(query?: {
/** The maximum number of items; 100 by default. */
limit?: number;
/** The cursor of the previous page; absent for the first page. */
after?: string;
status?: "active" | "disabled";
slug?: string;
}, options?: CallOptions): Promise<TenantPage>;
/** Read a tenant. `GET /api/v1/tenants/{tenantId}` */
get(tenantId: string, options?: CallOptions): Promise<Tenant>;
/** Rename, disable or enable a tenant; equal values change nothing. While a tenant is disabled, its tokens cannot be exchanged, introspected, revoked by their bearer, issued, rotated or imported, its clients get no tokens, sign-ins are refused, and SCIM is closed. Coordination refuses access tokens that were issued before; other services accept them until they expire. No credential is revoked: after the tenant is enabled, everything works again. `PATCH /api/v1/tenants/{tenantId}` */
update(tenantId: string, body?: TenantChange, options?: CallOptions): Promise<Tenant>;
}

export interface PrincipalsApi {
/** Create a principal in a tenant. `POST /api/v1/tenants/{tenantId}/principals` */
create(tenantId: string, body: NewPrincipal, options?: CallOptions): Promise<Principal>;
/** List the principals with an active membership in the tenant, in the order in which they joined. `GET /api/v1/tenants/{tenantId}/principals` */
list(tenantId: string, query?: {
/** The maximum number of items; 100 by default. */
limit?: number;
/** The cursor of the previous page; absent for the first page. */
after?: string;
kind?: "human" | "agent" | "service_account" | "workload";
status?: "active" | "paused" | "disabled";
/** Only these, by their ids, separated by commas, at most 100; `q` is then ignored. */
ids?: string;
/** Case-insensitive words, each of which must be a prefix of a word of the display name, or of the user name in a directory; at most 200 characters and 10 words. A blank query matches all principals. */
q?: string;
}, options?: CallOptions): Promise<PrincipalPage>;
/** Read a principal with an active membership in the tenant. `GET /api/v1/tenants/{tenantId}/principals/{principalId}` */
get(tenantId: string, principalId: string, options?: CallOptions): Promise<Principal>;
/** Rename a principal; the same name changes nothing. `PATCH /api/v1/tenants/{tenantId}/principals/{principalId}` */
update(tenantId: string, principalId: string, body: PrincipalChange, options?: CallOptions): Promise<Principal>;
/** Disable a principal in all tenants, revoke all its tokens and end its browser sessions. Coordination refuses its access tokens, too: at once in the default run, within 2 seconds if the services run separately. Other services accept them until they expire. `POST /api/v1/tenants/{tenantId}/principals/{principalId}:disable` */
disable(tenantId: string, principalId: string, query?: {
reason?: string;
}, options?: CallOptions): Promise<DisabledPrincipal>;
/** Enable a disabled or paused principal. Its revoked tokens stay revoked. `POST /api/v1/tenants/{tenantId}/principals/{principalId}:enable` */
enable(tenantId: string, principalId: string, options?: CallOptions): Promise<EnabledPrincipal>;
/** Issue a token to a human or an agent; its secret is shown once. A human needs a recent recorded sign-in. `POST /api/v1/tenants/{tenantId}/principals/{principalId}/platform-access-tokens` */
createToken(tenantId: string, principalId: string, body: NewPlatformAccessToken, options?: CallOptions): Promise<IssuedToken>;
/** List the passkeys of a person. `GET /api/v1/tenants/{tenantId}/principals/{principalId}/passkeys` */
listPasskeys(tenantId: string, principalId: string, options?: CallOptions): Promise<PasskeyList>;
/** Rename a passkey; the same name changes nothing. `PATCH /api/v1/tenants/{tenantId}/principals/{principalId}/passkeys/{passkeyId}` */
renamePasskey(tenantId: string, principalId: string, passkeyId: string, body: PasskeyChange, options?: CallOptions): Promise<Passkey>;
/** Remove a passkey, and end the sessions that it began. `DELETE /api/v1/tenants/{tenantId}/principals/{principalId}/passkeys/{passkeyId}` */
removePasskey(tenantId: string, principalId: string, passkeyId: string, query?: {
/** Remove it although it is the only way of the person to sign in, for instance because it was stolen. */
withLast?: boolean;
}, options?: CallOptions): Promise<undefined>;
/** List the live browser sessions of a person, newest first; at most 20. `GET /api/v1/tenants/{tenantId}/principals/{principalId}/browser-sessions` */
listBrowserSessions(tenantId: string, principalId: string, options?: CallOptions): Promise<BrowserSessionList>;
/** End a browser session. Repeating the call changes nothing and keeps the first reason. Its access tokens are revoked, too. `POST /api/v1/tenants/{tenantId}/principals/{principalId}/browser-sessions/{browserSessionId}:revoke` */
revokeBrowserSession(tenantId: string, principalId: string, browserSessionId: string, query?: {
reason?: string;
}, options?: CallOptions): Promise<undefined>;
/** Make a one-time link with which a person adds a passkey; its secret is shown once. For somebody who lost their passkeys. Earlier links of the person are revoked. `POST /api/v1/tenants/{tenantId}/principals/{principalId}/recovery-links` */
createRecoveryLink(tenantId: string, principalId: string, body?: NewRecoveryLink, options?: CallOptions): Promise<IssuedInvitation>;
/** List the people who may connect OAuth clients as an agent: at most 100. `GET /api/v1/tenants/{tenantId}/principals/{principalId}/connectors` */
listAgentConnectors(tenantId: string, principalId: string, options?: CallOptions): Promise<AgentConnectorList>;
/** Let a person connect OAuth clients as an agent. Repeating the call changes nothing. `PUT /api/v1/tenants/{tenantId}/principals/{principalId}/connectors/{personId}` */
addAgentConnector(tenantId: string, principalId: string, personId: string, options?: CallOptions): Promise<undefined>;
/** Revoke the permission of a person to connect OAuth clients as an agent. The clients that the person has connected as the agent are disconnected. `DELETE /api/v1/tenants/{tenantId}/principals/{principalId}/connectors/{personId}` */
removeAgentConnector(tenantId: string, principalId: string, personId: string, options?: CallOptions): Promise<undefined>;
/** Link a principal to its subject at an identity provider. `POST /api/v1/tenants/{tenantId}/principals/{principalId}/external-identities` */
linkExternalIdentity(tenantId: string, principalId: string, body: NewExternalIdentity, options?: CallOptions): Promise<ExternalIdentity>;
/** Record that a person signed in. `POST /api/v1/tenants/{tenantId}/principals/{principalId}/authentication-contexts` */
recordAuthenticationContext(tenantId: string, principalId: string, body: NewAuthenticationContext, options?: CallOptions): Promise<AuthenticationContext>;
}

export interface ServiceAccountsApi {
/** Create a service account; its secret is shown once. `POST /api/v1/tenants/{tenantId}/service-accounts` */
create(tenantId: string, body: NewServiceAccount, options?: CallOptions): Promise<CreatedServiceAccount>;
/** List the service accounts of a tenant by creation, including revoked ones. `GET /api/v1/tenants/{tenantId}/service-accounts` */
list(tenantId: string, query?: {
/** The maximum number of items; 100 by default. */
limit?: number;
/** The cursor of the previous page; absent for the first page. */
after?: string;
}, options?: CallOptions): Promise<ServiceAccountPage>;
/** Read a service account; its secret is never shown again. `GET /api/v1/tenants/{tenantId}/service-accounts/{clientId}` */
get(tenantId: string, clientId: string, options?: CallOptions): Promise<ServiceAccount>;
/** Change the audiences and scopes of a service account, or replace its secret. The resulting state is validated as a whole, even for an empty object, which changes nothing. `PATCH /api/v1/tenants/{tenantId}/service-accounts/{clientId}` */
update(tenantId: string, clientId: string, body?: ServiceAccountChange, options?: CallOptions): Promise<ChangedServiceAccount>;
/** Revoke a service account permanently. Revoking it again changes nothing. `POST /api/v1/tenants/{tenantId}/service-accounts/{clientId}:revoke` */
revoke(tenantId: string, clientId: string, options?: CallOptions): Promise<undefined>;
}

export interface AudiencesApi {
/** Register an audience and the scopes that it allows. `POST /api/v1/tenants/{tenantId}/audiences` */
create(tenantId: string, body: NewAudience, options?: CallOptions): Promise<Audience>;
/** List the audiences of a tenant by key. `GET /api/v1/tenants/{tenantId}/audiences` */
list(tenantId: string, options?: CallOptions): Promise<Audience[]>;
/** Read an audience. `GET /api/v1/tenants/{tenantId}/audiences/{key}` */
get(tenantId: string, key: string, options?: CallOptions): Promise<Audience>;
/** Replace the allowed scopes or the signing algorithm of an audience, disable or enable it; equal values change nothing. `PATCH /api/v1/tenants/{tenantId}/audiences/{key}` */
update(tenantId: string, key: string, body?: AudienceChange, options?: CallOptions): Promise<Audience>;
}

export interface GroupsApi {
/** Create a local group. `POST /api/v1/tenants/{tenantId}/groups` */
create(tenantId: string, body: NewGroup, options?: CallOptions): Promise<CreatedGroup>;
/** List the groups of a tenant in the order of their creation. `GET /api/v1/tenants/{tenantId}/groups` */
list(tenantId: string, query?: {
/** The maximum number of items; 100 by default. */
limit?: number;
/** The cursor of the previous page; absent for the first page. */
after?: string;
source?: "local" | "federated" | "scim";
status?: "active" | "disabled";
}, options?: CallOptions): Promise<GroupPage>;
/** Read a group. `GET /api/v1/tenants/{tenantId}/groups/{groupId}` */
get(tenantId: string, groupId: string, options?: CallOptions): Promise<Group>;
/** Rename, disable or enable a local group; equal values change nothing. `PATCH /api/v1/tenants/{tenantId}/groups/{groupId}` */
update(tenantId: string, groupId: string, body?: GroupChange, options?: CallOptions): Promise<Group>;
/** Delete a local group with its memberships. Deleting it again returns 404. `DELETE /api/v1/tenants/{tenantId}/groups/{groupId}` */
delete(tenantId: string, groupId: string, options?: CallOptions): Promise<undefined>;
/** Add a principal to a local group. `POST /api/v1/tenants/{tenantId}/groups/{groupId}/members` */
addMember(tenantId: string, groupId: string, body: NewGroupMember, options?: CallOptions): Promise<GroupMembership>;
/** List the members of a group, from any source, in the order in which they joined. `GET /api/v1/tenants/{tenantId}/groups/{groupId}/members` */
listMembers(tenantId: string, groupId: string, query?: {
/** The maximum number of items; 100 by default. */
limit?: number;
/** The cursor of the previous page; absent for the first page. */
after?: string;
}, options?: CallOptions): Promise<GroupMemberPage>;
/** Remove a principal from a local group. Removing it again returns 404. A membership that an identity provider added to a local group is restored by the next sign-in with that group. `DELETE /api/v1/tenants/{tenantId}/groups/{groupId}/members/{principalId}` */
removeMember(tenantId: string, groupId: string, principalId: string, options?: CallOptions): Promise<undefined>;
}

export interface IdentityProvidersApi {
/** Register an identity provider through which people sign in by federation. `POST /api/v1/tenants/{tenantId}/identity-providers` */
create(tenantId: string, body: NewIdentityProvider, options?: CallOptions): Promise<IdentityProvider>;
/** List the identity providers of a tenant by key. `GET /api/v1/tenants/{tenantId}/identity-providers` */
list(tenantId: string, options?: CallOptions): Promise<IdentityProvider[]>;
/** Read an identity provider. `GET /api/v1/tenants/{tenantId}/identity-providers/{key}` */
get(tenantId: string, key: string, options?: CallOptions): Promise<IdentityProvider>;
/** Change the requirements for upstream tokens; equal values change nothing. `PATCH /api/v1/tenants/{tenantId}/identity-providers/{key}` */
update(tenantId: string, key: string, body?: IdentityProviderChange, options?: CallOptions): Promise<IdentityProvider>;
/** Disable an identity provider: sign-ins through it are refused. Issued platform access tokens remain valid. `POST /api/v1/tenants/{tenantId}/identity-providers/{key}:disable` */
disable(tenantId: string, key: string, options?: CallOptions): Promise<IdentityProvider>;
/** Enable an identity provider. `POST /api/v1/tenants/{tenantId}/identity-providers/{key}:enable` */
enable(tenantId: string, key: string, options?: CallOptions): Promise<IdentityProvider>;
/** Test an identity provider step by step: discovery, keys, redirect, token, claims, result. Changes nothing, even with a token: nobody is created or admitted. Another `issuer` and `audience` are tested before they are set. A failed step is part of the response. `POST /api/v1/tenants/{tenantId}/identity-providers/{key}:test` */
test(tenantId: string, key: string, body?: ProviderTestRequest, options?: CallOptions): Promise<ProviderTest>;
/** Let tokens of a provider act as a principal, based on their claims. The provider must be one of workloads (`principalKind` `workload` or `none`). Tokens are exchanged at `POST /oauth2/token` with the grant of RFC 7523. For an issuer that strangers share, such as that of GitHub Actions, a condition must specify an owner. `POST /api/v1/tenants/{tenantId}/identity-providers/{key}/workload-rules` */
createWorkloadRule(tenantId: string, key: string, body: NewWorkloadRule, options?: CallOptions): Promise<WorkloadRule>;
/** List the workload rules of an identity provider by key; at most 100. `GET /api/v1/tenants/{tenantId}/identity-providers/{key}/workload-rules` */
listWorkloadRules(tenantId: string, key: string, options?: CallOptions): Promise<WorkloadRule[]>;
/** Read a workload rule. `GET /api/v1/tenants/{tenantId}/identity-providers/{key}/workload-rules/{ruleKey}` */
getWorkloadRule(tenantId: string, key: string, ruleKey: string, options?: CallOptions): Promise<WorkloadRule>;
/** Change a workload rule, from the next exchange on; equal values change nothing. `PATCH /api/v1/tenants/{tenantId}/identity-providers/{key}/workload-rules/{ruleKey}` */
updateWorkloadRule(tenantId: string, key: string, ruleKey: string, body?: WorkloadRuleChange, options?: CallOptions): Promise<WorkloadRule>;
/** Delete a workload rule, and revoke its access tokens. `DELETE /api/v1/tenants/{tenantId}/identity-providers/{key}/workload-rules/{ruleKey}` */
deleteWorkloadRule(tenantId: string, key: string, ruleKey: string, options?: CallOptions): Promise<undefined>;
/** Disable a workload rule, and revoke its access tokens until it is enabled again. `POST /api/v1/tenants/{tenantId}/identity-providers/{key}/workload-rules/{ruleKey}:disable` */
disableWorkloadRule(tenantId: string, key: string, ruleKey: string, options?: CallOptions): Promise<WorkloadRule>;
/** Enable a workload rule. `POST /api/v1/tenants/{tenantId}/identity-providers/{key}/workload-rules/{ruleKey}:enable` */
enableWorkloadRule(tenantId: string, key: string, ruleKey: string, options?: CallOptions): Promise<WorkloadRule>;
}

export interface FederationApi {
/** Sign in with an ID or access token of the tenant's identity provider. The first sign-in creates the person, or a request that an administrator decides (`unknownPeople` of the provider). For 300 seconds, the sign-in allows platform access tokens to be issued. `POST /api/v1/tenants/{tenantId}/federation:authenticate` */
authenticate(tenantId: string, body: FederatedSignInRequest, options?: CallOptions): Promise<FederatedSignIn>;
/** Sign in with an upstream ID or access token and get a short-lived access token for one audience. `POST /api/v1/tenants/{tenantId}/federation:exchange` */
exchange(tenantId: string, body: FederatedTokenRequest, options?: CallOptions): Promise<FederatedToken>;
/** Sign in with a token of the tenant's identity provider and begin a browser session. The session has the same rights as one that begins by a passkey. People only. `POST /api/v1/tenants/{tenantId}/federation:start-session` */
startFederatedSession(tenantId: string, body: FederatedSignInRequest, options?: CallOptions): Promise<StartedBrowserSession>;
}

export interface SignInRequestsApi {
/** List the requests of unknown people who signed in through a provider, by creation. `GET /api/v1/tenants/{tenantId}/sign-in-requests` */
list(tenantId: string, query?: {
/** The maximum number of items; 100 by default. */
limit?: number;
/** The cursor of the previous page; absent for the first page. */
after?: string;
status?: "pending" | "admitted" | "refused" | "expired";
}, options?: CallOptions): Promise<SignInRequestPage>;
/** Read a sign-in request. `GET /api/v1/tenants/{tenantId}/sign-in-requests/{signInRequestId}` */
get(tenantId: string, signInRequestId: string, options?: CallOptions): Promise<SignInRequest>;
/** Admit a person: create their principal and link their identity, or do neither. The principal gets the id in `principalId`. Bind it in coordination first, with `POST /admissions`: identity grants no rights. Repeating the call changes nothing. `POST /api/v1/tenants/{tenantId}/sign-in-requests/{signInRequestId}:admit` */
admit(tenantId: string, signInRequestId: string, options?: CallOptions): Promise<SignInRequest>;
/** Refuse a person, who cannot make another request for a while. The person is not informed. Repeating the call changes nothing and keeps the end of the first refusal. `POST /api/v1/tenants/{tenantId}/sign-in-requests/{signInRequestId}:refuse` */
refuse(tenantId: string, signInRequestId: string, body?: SignInRefusal, options?: CallOptions): Promise<SignInRequest>;
}

export interface PasskeysApi {
/** Get the options with which a browser requests a passkey. The person chooses among the passkeys that the device finds, so no name or e-mail is needed. `POST /api/v1/passkeys:sign-in-options` */
getSignInOptions(options?: CallOptions): Promise<PasskeyOptions>;
/** Sign in with a passkey: begins a browser session, whose secret is shown once. For 300 seconds it also allows issuing platform access tokens. `POST /api/v1/passkeys:sign-in` */
signInBy(body: PasskeySignInRequest, options?: CallOptions): Promise<StartedBrowserSession>;
/** Get the options with which a browser creates another passkey of the signed-in person. The sign-in must be recent, as for issuing a platform access token. `POST /api/v1/passkeys:registration-options` */
getRegistrationOptions(body: BrowserSessionRequest, options?: CallOptions): Promise<PasskeyOptions>;
/** Add the passkey that the browser has created to the signed-in person. `POST /api/v1/passkeys:register` */
register(body: OwnPasskeyRegistration, options?: CallOptions): Promise<Passkey>;
/** List the passkeys of the signed-in person. `POST /api/v1/passkeys:list` */
listOwn(body: BrowserSessionRequest, options?: CallOptions): Promise<PasskeyList>;
/** Rename a passkey of the signed-in person. The sign-in must be recent, as for issuing a platform access token. `POST /api/v1/passkeys:rename` */
renameOwn(body: OwnPasskeyChange, options?: CallOptions): Promise<Passkey>;
/** Remove a passkey of the signed-in person, and end the sessions that it began. The sign-in must be recent, as for issuing a platform access token. The last passkey is kept unless the person can sign in through an identity provider. `POST /api/v1/passkeys:remove` */
removeOwn(body: OwnPasskeyRequest, options?: CallOptions): Promise<undefined>;
}

export interface BrowserSessionsApi {
/** Exchange a browser session for a short-lived access token of one audience. `POST /api/v1/browser-sessions:exchange` */
exchange(body: BrowserSessionExchangeRequest, options?: CallOptions): Promise<TokenExchange>;
/** End the browser session that is presented. `POST /api/v1/browser-sessions:revoke-self` */
endOwn(body: BrowserSessionEnd, options?: CallOptions): Promise<undefined>;
/** List the live browser sessions of the signed-in person, newest first; at most 20. `POST /api/v1/browser-sessions:list` */
listOwn(body: BrowserSessionRequest, options?: CallOptions): Promise<OwnBrowserSessionList>;
/** End a browser session of the signed-in person. Repeating the call changes nothing. Its access tokens are revoked, too. Ending another session than the presented one requires a recent sign-in, as for issuing a platform access token. `POST /api/v1/browser-sessions:revoke` */
revokeOwn(body: OwnBrowserSessionEnd, options?: CallOptions): Promise<undefined>;
/** End every other browser session of the signed-in person in the tenant. Their access tokens are revoked, too. The sign-in must be recent, as for issuing a platform access token, unless the presented session ends with them. `POST /api/v1/browser-sessions:revoke-others` */
revokeOther(body: OtherBrowserSessionsEnd, options?: CallOptions): Promise<undefined>;
}

export interface AdministrationTokensApi {
/** Issue a token with which a person administers the identities of their tenant. For the service that knows who is an administrator: coordination. The token lives for at most 300 seconds after the sign-in of the person, and ends at once with their session, their account or their tenant. `POST /api/v1/tenants/{tenantId}/administration-tokens` */
create(tenantId: string, body: NewAdministrationToken, options?: CallOptions): Promise<IssuedAdministrationToken>;
/** Revoke an administration token. Repeating the call changes nothing. `POST /api/v1/tenants/{tenantId}/administration-tokens/{administrationTokenId}:revoke` */
revoke(tenantId: string, administrationTokenId: string, options?: CallOptions): Promise<undefined>;
}

export interface InvitationsApi {
/** Invite a person; the secret of the one-time link is shown once. A new person is paused until they accept. `role` is stored and shown; identity grants no rights for it. Earlier links of the person are revoked. `POST /api/v1/tenants/{tenantId}/invitations` */
create(tenantId: string, body?: NewInvitation, options?: CallOptions): Promise<IssuedInvitation>;
/** List the invitations and recovery links of a tenant by creation. `GET /api/v1/tenants/{tenantId}/invitations` */
list(tenantId: string, query?: {
/** The maximum number of items; 100 by default. */
limit?: number;
/** The cursor of the previous page; absent for the first page. */
after?: string;
principalId?: Uuid;
status?: "open" | "accepted" | "revoked" | "expired";
}, options?: CallOptions): Promise<InvitationPage>;
/** Read an invitation or recovery link; its secret is never shown again. `GET /api/v1/tenants/{tenantId}/invitations/{invitationId}` */
get(tenantId: string, invitationId: string, options?: CallOptions): Promise<Invitation>;
/** Revoke a link. Repeating the call changes nothing and keeps the first reason. `POST /api/v1/tenants/{tenantId}/invitations/{invitationId}:revoke` */
revoke(tenantId: string, invitationId: string, query?: {
reason?: string;
}, options?: CallOptions): Promise<undefined>;
/** Read the invitation or recovery link that is presented. `POST /api/v1/invitations:read` */
read(body: InvitationRequest, options?: CallOptions): Promise<OpenInvitation>;
/** Get the options with which a browser creates the passkey of the person who accepts a link. `POST /api/v1/invitations:registration-options` */
getPasskeyOptions(body: InvitationRequest, options?: CallOptions): Promise<PasskeyOptions>;
/** Accept a link with a new passkey, or by signing in through a provider of the tenant. Begins a browser session, whose secret is shown once. All of it is stored, or nothing is; of parallel acceptances of one link, only one succeeds. `POST /api/v1/invitations:accept` */
accept(body: InvitationAcceptance, options?: CallOptions): Promise<StartedBrowserSession>;
}

export interface OauthRequestsApi {
/** Read what an OAuth client requests, as the person who decides about it. The person presents a browser session. `POST /api/v1/oauth-requests:read` */
read(body: OauthRequestQuery, options?: CallOptions): Promise<OauthRequest>;
/** Allow or refuse what an OAuth client requests. To allow it, the sign-in must be recent, as for issuing a platform access token. The grant is then listed among the tokens of the person or agent. `POST /api/v1/oauth-requests:decide` */
decide(body: OauthRequestDecision, options?: CallOptions): Promise<OauthRequestDecided>;
}

export interface OauthGrantsApi {
/** List the live grants of the signed-in person to OAuth clients, the newest first. `POST /api/v1/oauth-grants:list` */
listOwn(body: OwnOauthGrantsRequest, options?: CallOptions): Promise<OwnOauthGrantList>;
/** End a grant of the signed-in person to an OAuth client. A repetition changes nothing. Its access tokens are revoked, too. `POST /api/v1/oauth-grants:revoke` */
revokeOwn(body: OwnOauthGrantEnd, options?: CallOptions): Promise<undefined>;
}

export interface OauthClientsApi {
/** Register an OAuth client of the tenant. It is public, without a secret: PKCE protects its codes. Clients whose id is the address of their metadata document need no registration. `POST /api/v1/tenants/{tenantId}/oauth-clients` */
register(tenantId: string, body: NewOauthClient, options?: CallOptions): Promise<OauthClient>;
/** List the registered OAuth clients of the tenant: at most 100. `GET /api/v1/tenants/{tenantId}/oauth-clients` */
list(tenantId: string, options?: CallOptions): Promise<OauthClientList>;
/** Delete a registered OAuth client. It can no longer request or refresh access; revoke its grants to end its access tokens at once. `DELETE /api/v1/tenants/{tenantId}/oauth-clients/{oauthClientId}` */
delete(tenantId: string, oauthClientId: string, options?: CallOptions): Promise<undefined>;
}

export interface LegacyCredentialsApi {
/** Import a key of the former control plane, to be exchanged for a transition period. `POST /api/v1/tenants/{tenantId}/legacy-credentials:import` */
import(tenantId: string, body: LegacyCredentialImport, options?: CallOptions): Promise<PlatformAccessToken>;
}

export interface ProvisioningSourcesApi {
/** Register the source that provisions the people of an identity provider. `POST /api/v1/tenants/{tenantId}/provisioning-sources` */
create(tenantId: string, body: NewProvisioningSource, options?: CallOptions): Promise<ProvisioningSource>;
/** List the provisioning sources of a tenant by creation, and whether they are stale. `GET /api/v1/tenants/{tenantId}/provisioning-sources` */
list(tenantId: string, options?: CallOptions): Promise<ProvisioningSource[]>;
/** Read a provisioning source. `GET /api/v1/tenants/{tenantId}/provisioning-sources/{sourceId}` */
get(tenantId: string, sourceId: string, options?: CallOptions): Promise<ProvisioningSource>;
/** Change the stale threshold and the upstream settings of a source; equal values change nothing. `PATCH /api/v1/tenants/{tenantId}/provisioning-sources/{sourceId}` */
update(tenantId: string, sourceId: string, body?: ProvisioningSourceChange, options?: CallOptions): Promise<ProvisioningSource>;
/** Close a source: its SCIM requests are refused at once. The data that it wrote remains. `POST /api/v1/tenants/{tenantId}/provisioning-sources/{sourceId}:disable` */
disable(tenantId: string, sourceId: string, options?: CallOptions): Promise<ProvisioningSource>;
/** Open a source again. `POST /api/v1/tenants/{tenantId}/provisioning-sources/{sourceId}:enable` */
enable(tenantId: string, sourceId: string, options?: CallOptions): Promise<ProvisioningSource>;
/** Record that a directory was read, even without a change. SCIM sources need no heartbeat, because their writes count as one. `POST /api/v1/tenants/{tenantId}/provisioning-sources/{sourceId}:heartbeat` */
heartbeat(tenantId: string, sourceId: string, options?: CallOptions): Promise<ProvisioningSource>;
/** Issue a long-lived SCIM token of a source; its secret is shown once, and at most two are valid at a time. `POST /api/v1/tenants/{tenantId}/provisioning-sources/{sourceId}/tokens` */
createToken(tenantId: string, sourceId: string, body: NewProvisioningToken, options?: CallOptions): Promise<IssuedProvisioningToken>;
/** List the SCIM tokens of a source by creation, without their secrets. `GET /api/v1/tenants/{tenantId}/provisioning-sources/{sourceId}/tokens` */
listTokens(tenantId: string, sourceId: string, options?: CallOptions): Promise<ProvisioningToken[]>;
/** Revoke a SCIM token. Revoking it again changes nothing. `POST /api/v1/tenants/{tenantId}/provisioning-sources/{sourceId}/tokens/{tokenId}:revoke` */
revokeToken(tenantId: string, sourceId: string, tokenId: string, options?: CallOptions): Promise<undefined>;
}

export interface ScimApi {
/** List or find users. `GET /scim/v2/Users` */
listUsers(query?: {
filter?: string;
startIndex?: string;
count?: string;
sortBy?: string;
sortOrder?: string;
attributes?: string;
excludedAttributes?: string;
}, options?: CallOptions): Promise<ScimListResponse>;
/** Create a user and its person; a deleted user is restored as the same person. `POST /scim/v2/Users` */
createUser(body?: ScimUser, options?: CallOptions & { query?: {
attributes?: string;
excludedAttributes?: string;
} }): Promise<ScimUser>;
/** Find users, with the query in the body. `POST /scim/v2/Users/.search` */
searchUsers(body?: ScimSearch, options?: CallOptions): Promise<ScimListResponse>;
/** Read a user. `GET /scim/v2/Users/{id}` */
getUser(id: string, query?: {
attributes?: string;
excludedAttributes?: string;
}, options?: CallOptions): Promise<ScimUser>;
/** Replace a user. Without `active` its status is unchanged. `PUT /scim/v2/Users/{id}` */
replaceUser(id: string, body?: ScimUser, options?: CallOptions & { query?: {
attributes?: string;
excludedAttributes?: string;
} }): Promise<ScimUser>;
/** Change a user. Setting `active` to false disables the person and revokes their tokens. `PATCH /scim/v2/Users/{id}` */
updateUser(id: string, body?: ScimPatch, options?: CallOptions & { query?: {
attributes?: string;
excludedAttributes?: string;
} }): Promise<ScimUser>;
/** Delete a user: its person is disabled and removed from the groups of this source. `DELETE /scim/v2/Users/{id}` */
deleteUser(id: string, options?: CallOptions): Promise<undefined>;
/** List or find groups. `excludedAttributes=members` avoids reading the members. `GET /scim/v2/Groups` */
listGroups(query?: {
filter?: string;
startIndex?: string;
count?: string;
sortBy?: string;
sortOrder?: string;
attributes?: string;
excludedAttributes?: string;
}, options?: CallOptions): Promise<ScimListResponse>;
/** Create a group of users of this source. `POST /scim/v2/Groups` */
createGroup(body?: ScimGroup, options?: CallOptions & { query?: {
attributes?: string;
excludedAttributes?: string;
} }): Promise<ScimGroup>;
/** Find groups, with the query in the body. `POST /scim/v2/Groups/.search` */
searchGroups(body?: ScimSearch, options?: CallOptions): Promise<ScimListResponse>;
/** Read a group. `GET /scim/v2/Groups/{id}` */
getGroup(id: string, query?: {
attributes?: string;
excludedAttributes?: string;
}, options?: CallOptions): Promise<ScimGroup>;
/** Replace the name, the external id and the members of a group. `PUT /scim/v2/Groups/{id}` */
replaceGroup(id: string, body?: ScimGroup, options?: CallOptions & { query?: {
attributes?: string;
excludedAttributes?: string;
} }): Promise<ScimGroup>;
/** Change a group. If it has more than 200 members, the response is 204. `PATCH /scim/v2/Groups/{id}` */
updateGroup(id: string, body?: ScimPatch, options?: CallOptions & { query?: {
attributes?: string;
excludedAttributes?: string;
} }): Promise<ScimGroup>;
/** Delete a group. `DELETE /scim/v2/Groups/{id}` */
deleteGroup(id: string, options?: CallOptions): Promise<undefined>;
/** Find users and groups, with the query in the body. `POST /scim/v2/.search` */
search(body?: ScimSearch, options?: CallOptions): Promise<ScimListResponse>;
/** The features of this SCIM service. `GET /scim/v2/ServiceProviderConfig` */
getServiceProviderConfig(options?: CallOptions): Promise<ScimServiceProviderConfig>;
/** The kinds of resources. `GET /scim/v2/ResourceTypes` */
listResourceTypes(query?: {
filter?: string;
}, options?: CallOptions): Promise<ScimListResponse>;
/** One kind of resource. `GET /scim/v2/ResourceTypes/{name}` */
getResourceType(name: string, options?: CallOptions): Promise<ScimResourceType>;
/** The attributes of all resources. `GET /scim/v2/Schemas` */
listSchemas(query?: {
filter?: string;
}, options?: CallOptions): Promise<ScimListResponse>;
/** The attributes of one schema. `GET /scim/v2/Schemas/{urn}` */
getSchema(urn: string, options?: CallOptions): Promise<ScimSchema>;
}

export interface EventsApi {
/** Read the journal of all tenants. In the order of `sequence`. A lower sequence never appears after a higher one was returned, so a reader that keeps its last sequence as `after` misses nothing; the header `Journal-Read-To` can also be used as `after`, and advances even if no event matches. If old events are removed, an `after` below the last removed one is refused, and the header `Journal-Floor` of that response is the `after` to start from. After a restore or a failover of the database, an `after` that does not belong to this history is refused, and `Journal-Read-To` of that response is the `after` to continue from. `GET /api/v1/events` */
list(query?: {
/** The `sequence` of the last event that was read. */
after?: number;
/** The maximum number of items; 100 by default. */
limit?: number;
/** The number of seconds to wait for an event; a busy or stopping service waits for less time. */
wait?: number;
tenantId?: Uuid;
type?: string;
}, options?: CallOptions): Promise<JournalEventPage>;
}

export interface AuditApi {
/** Read the audit log of all tenants. In the order of `sequence`, oldest first, for pollers: a lower sequence never appears after a higher one was returned, so a reader that keeps its last sequence as `after` misses nothing. `order=desc` returns the newest first, for display. Searches with `tenantId`, `resourceId` or `requestId` use an index; only a search for exchanges of a tenant by action or resource type reads all of its exchanges. `GET /api/v1/audit` */
listRecords(query?: {
tenantId?: Uuid;
action?: string;
actor?: string;
resourceType?: string;
resourceId?: Uuid;
outcome?: "allowed" | "denied";
requestId?: string;
/** Nothing before this instant. */
from?: Instant;
/** Nothing after this instant. */
to?: Instant;
order?: "asc" | "desc";
/** The `sequence` of the last record that was read, in either order. */
after?: number;
/** The maximum number of items; 100 by default. */
limit?: number;
}, options?: CallOptions): Promise<AuditRecordPage>;
/** Read the audit log of a tenant. Like `GET /audit` with `tenantId`, but also for an administrator of the tenant. `GET /api/v1/tenants/{tenantId}/audit` */
listTenantRecords(tenantId: string, query?: {
action?: string;
actor?: string;
resourceType?: string;
resourceId?: Uuid;
outcome?: "allowed" | "denied";
requestId?: string;
/** Nothing before this instant. */
from?: Instant;
/** Nothing after this instant. */
to?: Instant;
order?: "asc" | "desc";
/** The `sequence` of the last record that was read, in either order. */
after?: number;
/** The maximum number of items; 100 by default. */
limit?: number;
}, options?: CallOptions): Promise<AuditRecordPage>;
}

/** Every operation of identity, by its subject. */
export interface IdentityApi {
readonly platformAccessTokens: PlatformAccessTokensApi;
readonly tokens: TokensApi;
readonly keys: KeysApi;
readonly oauth2: Oauth2Api;
readonly tenants: TenantsApi;
readonly principals: PrincipalsApi;
readonly serviceAccounts: ServiceAccountsApi;
readonly audiences: AudiencesApi;
readonly groups: GroupsApi;
readonly identityProviders: IdentityProvidersApi;
readonly federation: FederationApi;
readonly signInRequests: SignInRequestsApi;
readonly passkeys: PasskeysApi;
readonly browserSessions: BrowserSessionsApi;
readonly administrationTokens: AdministrationTokensApi;
readonly invitations: InvitationsApi;
readonly oauthRequests: OauthRequestsApi;
readonly oauthGrants: OauthGrantsApi;
readonly oauthClients: OauthClientsApi;
readonly legacyCredentials: LegacyCredentialsApi;
readonly provisioningSources: ProvisioningSourcesApi;
readonly scim: ScimApi;
readonly events: EventsApi;
readonly audit: AuditApi;
}
