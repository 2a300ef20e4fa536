// GENERATED from the OpenAPI documents by: npm run generate

import type { CallOptions } from '../call.ts';
import type {
Audience,
AudienceChange,
AuditRecordPage,
AuthenticationContext,
AuthorizationServerMetadata,
ChangedServiceAccount,
ClientExchange,
ClientExchangeRequest,
CreatedGroup,
CreatedServiceAccount,
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
IssuedProvisioningToken,
IssuedToken,
JournalEventPage,
JsonWebKeySet,
LegacyCredentialImport,
NewAudience,
NewAuthenticationContext,
NewExternalIdentity,
NewGroup,
NewGroupMember,
NewIdentityProvider,
NewPlatformAccessToken,
NewPrincipal,
NewProvisioningSource,
NewProvisioningToken,
NewServiceAccount,
NewTenant,
OauthIntrospection,
OauthToken,
OauthTokenQuery,
OauthTokenRequest,
PlatformAccessToken,
PlatformAccessTokenRotation,
Principal,
PrincipalChange,
PrincipalPage,
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
Tenant,
TenantChange,
TenantPage,
TokenExchange,
TokenExchangeRequest,
Uuid
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
/** Explain that browser sign-in is not available to OAuth clients, and describe the alternative. `GET /oauth2/authorize` */
explainAuthorization(options?: CallOptions): Promise<string>;
/** Get an access token with client credentials (RFC 6749), or for a platform access token (RFC 8693). Clients authenticate with client_secret_basic or client_secret_post; a token exchange needs no client authentication. `resource` (RFC 8707) may replace `audience`. Errors have the format of RFC 6749. `POST /oauth2/token` */
grant(body: OauthTokenRequest, options?: CallOptions): Promise<OauthToken>;
/** Check whether an access token or a platform access token is valid (RFC 7662). A service account sees the tokens of its tenant for one of its audiences; for everything else the response is `{"active": false}`. `POST /oauth2/introspect` */
introspect(body: OauthTokenQuery, options?: CallOptions): Promise<OauthIntrospection>;
/** Revoke a platform access token (RFC 7009). An unknown token gets the same response. The holder of a token may revoke it; client credentials are validated if they are sent. An access token cannot be revoked by itself: it expires, or is revoked with the credential that it was exchanged for. `POST /oauth2/revoke` */
revoke(body: OauthTokenQuery, options?: CallOptions): Promise<undefined>;
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
/** Case-insensitive words, each of which must be a prefix of a word of the display name, or of the user name in a directory; at most 200 characters and 10 words. A blank query matches all principals. */
q?: string;
}, options?: CallOptions): Promise<PrincipalPage>;
/** Read a principal with an active membership in the tenant. `GET /api/v1/tenants/{tenantId}/principals/{principalId}` */
get(tenantId: string, principalId: string, options?: CallOptions): Promise<Principal>;
/** Rename a principal; the same name changes nothing. `PATCH /api/v1/tenants/{tenantId}/principals/{principalId}` */
update(tenantId: string, principalId: string, body: PrincipalChange, options?: CallOptions): Promise<Principal>;
/** Disable a principal in all tenants and revoke all its tokens. Coordination refuses its access tokens, too: at once in the default run, within 2 seconds if the services run separately. Other services accept them until they expire. `POST /api/v1/tenants/{tenantId}/principals/{principalId}:disable` */
disable(tenantId: string, principalId: string, query?: {
reason?: string;
}, options?: CallOptions): Promise<DisabledPrincipal>;
/** Enable a disabled or paused principal. Its revoked tokens stay revoked. `POST /api/v1/tenants/{tenantId}/principals/{principalId}:enable` */
enable(tenantId: string, principalId: string, options?: CallOptions): Promise<EnabledPrincipal>;
/** Issue a token to a human or an agent; its secret is shown once. A human needs a recent recorded sign-in. `POST /api/v1/tenants/{tenantId}/principals/{principalId}/platform-access-tokens` */
createToken(tenantId: string, principalId: string, body: NewPlatformAccessToken, options?: CallOptions): Promise<IssuedToken>;
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
}

export interface FederationApi {
/** Sign in with an ID or access token of the tenant's identity provider. The first sign-in creates the person. For 300 seconds, the sign-in allows platform access tokens to be issued. `POST /api/v1/tenants/{tenantId}/federation:authenticate` */
authenticate(tenantId: string, body: FederatedSignInRequest, options?: CallOptions): Promise<FederatedSignIn>;
/** Sign in with an upstream ID or access token and get a short-lived access token for one audience. `POST /api/v1/tenants/{tenantId}/federation:exchange` */
exchange(tenantId: string, body: FederatedTokenRequest, options?: CallOptions): Promise<FederatedToken>;
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
readonly legacyCredentials: LegacyCredentialsApi;
readonly provisioningSources: ProvisioningSourcesApi;
readonly scim: ScimApi;
readonly events: EventsApi;
readonly audit: AuditApi;
}
