import type { Endpoint } from '@baton/kernel/service';
import { audiencesApi } from '../directory/audiences/audiences.api.ts';
import { auditRecordApi } from '../records/audit-record/audit-record.api.ts';
import { authenticationContextsApi } from '../directory/authentication-contexts/authentication-contexts.api.ts';
import type { Context } from './context.ts';
import { externalIdentitiesApi } from '../directory/external-identities/external-identities.api.ts';
import { federationApi } from '../sign-in/federation/federation.api.ts';
import { groupMembersApi } from '../directory/groups/group-members.api.ts';
import { groupsApi } from '../directory/groups/groups.api.ts';
import { healthApi } from './health/health.api.ts';
import { identityProvidersApi } from '../sign-in/identity-providers/identity-providers.api.ts';
import { journalApi } from '../records/journal/journal.api.ts';
import { legacyCredentialsApi } from '../credentials/legacy-credentials/legacy-credentials.api.ts';
import { platformAccessTokensApi } from '../credentials/platform-access-tokens/platform-access-tokens.api.ts';
import { presentedTokensApi } from '../issuing/presented/presented.api.ts';
import { principalsApi } from '../directory/principals/principals.api.ts';
import { provisioningSourcesApi } from '../provisioning/provisioning-sources/provisioning-sources.api.ts';
import { provisioningTokensApi } from '../provisioning/provisioning-sources/provisioning-tokens.api.ts';
import { oauth2Api } from '../issuing/oauth2/oauth2.api.ts';
import { discoveryApi } from '../provisioning/scim/protocol/discovery.api.ts';
import { scimApi } from '../provisioning/scim/protocol/scim.api.ts';
import { serviceAccountsApi } from '../directory/service-accounts/service-accounts.api.ts';
import { signingKeysApi } from '../issuing/signing-keys/signing-keys.api.ts';
import { tenantsApi } from '../directory/tenants/tenants.api.ts';
import { tokensApi } from '../issuing/tokens/tokens.api.ts';

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
