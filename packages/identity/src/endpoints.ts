import type { Endpoint } from '@baton/kernel/service';
import { audiencesApi } from './audiences/audiences.api.ts';
import { auditRecordApi } from './audit-record/audit-record.api.ts';
import { authenticationContextsApi } from './authentication-contexts/authentication-contexts.api.ts';
import type { Context } from './context.ts';
import { externalIdentitiesApi } from './external-identities/external-identities.api.ts';
import { federationApi } from './federation/federation.api.ts';
import { groupMembersApi } from './groups/group-members.api.ts';
import { groupsApi } from './groups/groups.api.ts';
import { healthApi } from './health/health.api.ts';
import { identityProvidersApi } from './identity-providers/identity-providers.api.ts';
import { journalApi } from './journal/journal.api.ts';
import { legacyCredentialsApi } from './legacy-credentials/legacy-credentials.api.ts';
import { platformAccessTokensApi } from './platform-access-tokens/platform-access-tokens.api.ts';
import { presentedTokensApi } from './platform-access-tokens/presented.api.ts';
import { principalsApi } from './principals/principals.api.ts';
import { provisioningSourcesApi } from './provisioning-sources/provisioning-sources.api.ts';
import { provisioningTokensApi } from './provisioning-sources/provisioning-tokens.api.ts';
import { oauth2Api } from './oauth2/oauth2.api.ts';
import { discoveryApi } from './scim/discovery.api.ts';
import { scimApi } from './scim/scim.api.ts';
import { serviceAccountsApi } from './service-accounts/service-accounts.api.ts';
import { signingKeysApi } from './signing-keys/signing-keys.api.ts';
import { tenantsApi } from './tenants/tenants.api.ts';
import { tokensApi } from './tokens/tokens.api.ts';

/** Every operation of identity. What is not listed here does not exist. */
export const endpoints: readonly Endpoint<Context>[] = [
  ...healthApi,
  ...signingKeysApi,
  ...tenantsApi,
  ...principalsApi,
  ...externalIdentitiesApi,
  ...authenticationContextsApi,
  ...audiencesApi,
  ...groupsApi,
  ...groupMembersApi,
  ...identityProvidersApi,
  ...federationApi,
  ...serviceAccountsApi,
  ...platformAccessTokensApi,
  ...legacyCredentialsApi,
  ...presentedTokensApi,
  ...tokensApi,
  ...provisioningSourcesApi,
  ...provisioningTokensApi,
  ...journalApi,
  ...auditRecordApi,
  ...oauth2Api,
  ...discoveryApi,
  ...scimApi,
];
