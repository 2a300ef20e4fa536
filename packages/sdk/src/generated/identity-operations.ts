// GENERATED from the OpenAPI documents by: npm run generate

/** One operation a line: its name, method, path, and flags (see call-table.ts). */
export const identityOperations = `
platformAccessTokens.exchange POST /api/v1/platform-access-tokens:exchange b
tokens.exchange POST /api/v1/tokens/exchange b
platformAccessTokens.introspect POST /api/v1/platform-access-tokens:introspect b
platformAccessTokens.revokeOwn POST /api/v1/platform-access-tokens:revoke-self b
keys.getServerMetadata GET /.well-known/oauth-authorization-server
oauth2.explainAuthorization GET /oauth2/authorize
oauth2.grant POST /oauth2/token bf
oauth2.introspect POST /oauth2/introspect bf
oauth2.revoke POST /oauth2/revoke bf
keys.list GET /.well-known/jwks.json
keys.listRevocations GET /.well-known/revocations.json
tenants.create POST /api/v1/tenants ba
tenants.list GET /api/v1/tenants qa
tenants.get GET /api/v1/tenants/{tenantId} a
tenants.update PATCH /api/v1/tenants/{tenantId} ba
principals.create POST /api/v1/tenants/{tenantId}/principals ba
principals.list GET /api/v1/tenants/{tenantId}/principals qa
principals.get GET /api/v1/tenants/{tenantId}/principals/{principalId} a
principals.update PATCH /api/v1/tenants/{tenantId}/principals/{principalId} ba
principals.disable POST /api/v1/tenants/{tenantId}/principals/{principalId}:disable qa
principals.enable POST /api/v1/tenants/{tenantId}/principals/{principalId}:enable a
principals.createToken POST /api/v1/tenants/{tenantId}/principals/{principalId}/platform-access-tokens bka
platformAccessTokens.list GET /api/v1/tenants/{tenantId}/platform-access-tokens qa
platformAccessTokens.get GET /api/v1/tenants/{tenantId}/platform-access-tokens/{credentialId} a
platformAccessTokens.revoke POST /api/v1/tenants/{tenantId}/platform-access-tokens/{credentialId}:revoke qa
platformAccessTokens.rotate POST /api/v1/tenants/{tenantId}/platform-access-tokens/{credentialId}:rotate bka
serviceAccounts.create POST /api/v1/tenants/{tenantId}/service-accounts ba
serviceAccounts.list GET /api/v1/tenants/{tenantId}/service-accounts qa
serviceAccounts.get GET /api/v1/tenants/{tenantId}/service-accounts/{clientId} a
serviceAccounts.update PATCH /api/v1/tenants/{tenantId}/service-accounts/{clientId} ba
serviceAccounts.revoke POST /api/v1/tenants/{tenantId}/service-accounts/{clientId}:revoke a
audiences.create POST /api/v1/tenants/{tenantId}/audiences ba
audiences.list GET /api/v1/tenants/{tenantId}/audiences a
audiences.get GET /api/v1/tenants/{tenantId}/audiences/{key} a
audiences.update PATCH /api/v1/tenants/{tenantId}/audiences/{key} ba
groups.create POST /api/v1/tenants/{tenantId}/groups ba
groups.list GET /api/v1/tenants/{tenantId}/groups qa
groups.get GET /api/v1/tenants/{tenantId}/groups/{groupId} a
groups.update PATCH /api/v1/tenants/{tenantId}/groups/{groupId} ba
groups.delete DELETE /api/v1/tenants/{tenantId}/groups/{groupId} a
groups.addMember POST /api/v1/tenants/{tenantId}/groups/{groupId}/members ba
groups.listMembers GET /api/v1/tenants/{tenantId}/groups/{groupId}/members qa
groups.removeMember DELETE /api/v1/tenants/{tenantId}/groups/{groupId}/members/{principalId} a
identityProviders.create POST /api/v1/tenants/{tenantId}/identity-providers ba
identityProviders.list GET /api/v1/tenants/{tenantId}/identity-providers a
identityProviders.get GET /api/v1/tenants/{tenantId}/identity-providers/{key} a
identityProviders.update PATCH /api/v1/tenants/{tenantId}/identity-providers/{key} ba
identityProviders.disable POST /api/v1/tenants/{tenantId}/identity-providers/{key}:disable a
identityProviders.enable POST /api/v1/tenants/{tenantId}/identity-providers/{key}:enable a
identityProviders.createWorkloadRule POST /api/v1/tenants/{tenantId}/identity-providers/{key}/workload-rules ba
identityProviders.listWorkloadRules GET /api/v1/tenants/{tenantId}/identity-providers/{key}/workload-rules a
identityProviders.getWorkloadRule GET /api/v1/tenants/{tenantId}/identity-providers/{key}/workload-rules/{ruleKey} a
identityProviders.updateWorkloadRule PATCH /api/v1/tenants/{tenantId}/identity-providers/{key}/workload-rules/{ruleKey} ba
identityProviders.deleteWorkloadRule DELETE /api/v1/tenants/{tenantId}/identity-providers/{key}/workload-rules/{ruleKey} a
identityProviders.disableWorkloadRule POST /api/v1/tenants/{tenantId}/identity-providers/{key}/workload-rules/{ruleKey}:disable a
identityProviders.enableWorkloadRule POST /api/v1/tenants/{tenantId}/identity-providers/{key}/workload-rules/{ruleKey}:enable a
federation.authenticate POST /api/v1/tenants/{tenantId}/federation:authenticate b
federation.exchange POST /api/v1/tenants/{tenantId}/federation:exchange b
principals.linkExternalIdentity POST /api/v1/tenants/{tenantId}/principals/{principalId}/external-identities ba
principals.recordAuthenticationContext POST /api/v1/tenants/{tenantId}/principals/{principalId}/authentication-contexts ba
legacyCredentials.import POST /api/v1/tenants/{tenantId}/legacy-credentials:import ba
provisioningSources.create POST /api/v1/tenants/{tenantId}/provisioning-sources ba
provisioningSources.list GET /api/v1/tenants/{tenantId}/provisioning-sources a
provisioningSources.get GET /api/v1/tenants/{tenantId}/provisioning-sources/{sourceId} a
provisioningSources.update PATCH /api/v1/tenants/{tenantId}/provisioning-sources/{sourceId} ba
provisioningSources.disable POST /api/v1/tenants/{tenantId}/provisioning-sources/{sourceId}:disable a
provisioningSources.enable POST /api/v1/tenants/{tenantId}/provisioning-sources/{sourceId}:enable a
provisioningSources.heartbeat POST /api/v1/tenants/{tenantId}/provisioning-sources/{sourceId}:heartbeat a
provisioningSources.createToken POST /api/v1/tenants/{tenantId}/provisioning-sources/{sourceId}/tokens bka
provisioningSources.listTokens GET /api/v1/tenants/{tenantId}/provisioning-sources/{sourceId}/tokens a
provisioningSources.revokeToken POST /api/v1/tenants/{tenantId}/provisioning-sources/{sourceId}/tokens/{tokenId}:revoke a
scim.listUsers GET /scim/v2/Users qv
scim.createUser POST /scim/v2/Users bsqv
scim.searchUsers POST /scim/v2/Users/.search bsv
scim.getUser GET /scim/v2/Users/{id} qv
scim.replaceUser PUT /scim/v2/Users/{id} bsqv
scim.updateUser PATCH /scim/v2/Users/{id} bsqv
scim.deleteUser DELETE /scim/v2/Users/{id} v
scim.listGroups GET /scim/v2/Groups qv
scim.createGroup POST /scim/v2/Groups bsqv
scim.searchGroups POST /scim/v2/Groups/.search bsv
scim.getGroup GET /scim/v2/Groups/{id} qv
scim.replaceGroup PUT /scim/v2/Groups/{id} bsqv
scim.updateGroup PATCH /scim/v2/Groups/{id} bsqv
scim.deleteGroup DELETE /scim/v2/Groups/{id} v
scim.search POST /scim/v2/.search bsv
scim.getServiceProviderConfig GET /scim/v2/ServiceProviderConfig v
scim.listResourceTypes GET /scim/v2/ResourceTypes qv
scim.getResourceType GET /scim/v2/ResourceTypes/{name} v
scim.listSchemas GET /scim/v2/Schemas qv
scim.getSchema GET /scim/v2/Schemas/{urn} v
events.list GET /api/v1/events qa
audit.listRecords GET /api/v1/audit qa
`;
