import type { Endpoint } from '@baton/kernel/http/service';
import type { Section } from '@baton/kernel/openapi/openapi';
import { legacyCredentialsApi } from '../credentials/legacy-credentials/legacy-credentials.api.ts';
import { platformAccessTokensApi } from '../credentials/platform-access-tokens/platform-access-tokens.api.ts';
import { audiencesApi } from '../directory/audiences/audiences.api.ts';
import { authenticationContextsApi } from '../directory/authentication-contexts/authentication-contexts.api.ts';
import { externalIdentitiesApi } from '../directory/external-identities/external-identities.api.ts';
import { groupMembersApi } from '../directory/groups/group-members.api.ts';
import { groupsApi } from '../directory/groups/groups.api.ts';
import { principalsApi } from '../directory/principals/principals.api.ts';
import { serviceAccountsApi } from '../directory/service-accounts/service-accounts.api.ts';
import { tenantsApi } from '../directory/tenants/tenants.api.ts';
import { exchangesApi } from '../issuing/exchange/exchanges.api.ts';
import { introspectionApi } from '../issuing/introspection/introspection.api.ts';
import { oauth2Api } from '../issuing/oauth2/oauth2.api.ts';
import { revocationsApi } from '../issuing/revocations/revocations.api.ts';
import { signingKeysApi } from '../issuing/signing-keys/signing-keys.api.ts';
import { provisioningSourcesApi } from '../provisioning/provisioning-sources/provisioning-sources.api.ts';
import { provisioningTokensApi } from '../provisioning/provisioning-sources/provisioning-tokens.api.ts';
import { groupsApi as scimGroupsApi } from '../provisioning/scim/groups/groups.api.ts';
import { discoveryApi } from '../provisioning/scim/protocol/discovery.api.ts';
import { rootSearchApi } from '../provisioning/scim/root-search/root-search.api.ts';
import { usersApi as scimUsersApi } from '../provisioning/scim/users/users.api.ts';
import { auditRecordsApi } from '../records/audit-record/audit-records.api.ts';
import { eventsApi } from '../records/journal/events.api.ts';
import { administrationTokensApi } from '../sign-in/administration-tokens/administration-tokens.api.ts';
import { browserSessionsApi } from '../sign-in/browser-sessions/browser-sessions.api.ts';
import { federationApi } from '../sign-in/federation/federation.api.ts';
import { identityProvidersApi } from '../sign-in/identity-providers/identity-providers.api.ts';
import { invitationsApi } from '../sign-in/invitations/invitations.api.ts';
import { agentConnectorsApi } from '../sign-in/oauth/agent-connectors/agent-connectors.api.ts';
import { oauthClientsApi } from '../sign-in/oauth/clients/oauth-clients.api.ts';
import { oauthApi } from '../sign-in/oauth/oauth.api.ts';
import { ownGrantsApi } from '../sign-in/oauth/own-grants/own-grants.api.ts';
import { passkeysApi } from '../sign-in/passkeys/passkeys.api.ts';
import { providerTestsApi } from '../sign-in/provider-tests/provider-tests.api.ts';
import { signInRequestsApi } from '../sign-in/sign-in-requests/sign-in-requests.api.ts';
import { workloadRulesApi } from '../sign-in/workload-rules/workload-rules.api.ts';
import type { Context } from './context.ts';
import { healthApi } from './health/health.api.ts';

/**
 * The table of contents of the API: every operation of identity, in the order in which a newcomer needs them. An
 * operation that isn't listed here does not exist.
 */
export const sections: readonly Section<Endpoint<Context>>[] = [
  {
    tag: 'Access tokens',
    about: 'Exchange a credential for a short-lived access token; introspect or revoke the credential.',
    endpoints: [...exchangesApi, ...introspectionApi, ...oauth2Api],
  },
  {
    tag: 'Signing keys',
    about: 'The public keys that verify access tokens, and the list of revocations.',
    endpoints: [...signingKeysApi, ...revocationsApi],
  },
  {
    tag: 'Tenants',
    about: 'The organisations of this installation, isolated from each other.',
    endpoints: tenantsApi,
  },
  {
    tag: 'Principals',
    about: 'The people, agents, service accounts and workloads of a tenant.',
    endpoints: principalsApi,
  },
  {
    tag: 'Platform access tokens',
    about: 'Long-lived secrets of a principal that are exchanged for access tokens.',
    endpoints: platformAccessTokensApi,
  },
  {
    tag: 'Service accounts',
    about: 'Programs that get access tokens with a client id and a secret.',
    endpoints: serviceAccountsApi,
  },
  {
    tag: 'Audiences',
    about: 'The services for which access tokens are issued, with their scopes.',
    endpoints: audiencesApi,
  },
  {
    tag: 'Groups',
    about: 'Groups of principals and their members.',
    endpoints: [...groupsApi, ...groupMembersApi],
  },
  {
    tag: 'Identity providers',
    about: 'The sign-in services that a tenant trusts.',
    endpoints: [...identityProvidersApi, ...providerTestsApi],
  },
  {
    tag: 'Workload rules',
    about: 'Which principals the tokens of CI jobs, clusters and other platforms act as.',
    endpoints: workloadRulesApi,
  },
  {
    tag: 'Federation',
    about: 'Sign in with a token of an identity provider.',
    endpoints: federationApi,
  },
  {
    tag: 'Sign-in requests',
    about: 'People who signed in through a provider and are unknown: admit or refuse them.',
    endpoints: signInRequestsApi,
  },
  {
    tag: 'Passkeys',
    about: 'Sign in by a passkey, and manage the passkeys of a person.',
    endpoints: passkeysApi,
  },
  {
    tag: 'Browser sessions',
    about: 'Sessions of people in a browser, which are exchanged for access tokens.',
    endpoints: browserSessionsApi,
  },
  {
    tag: 'Administration tokens',
    about: 'Tokens with which people administer the identities of their own tenant for some minutes.',
    endpoints: administrationTokensApi,
  },
  {
    tag: 'Invitations',
    about: 'One-time links for people: invite somebody, or let them back in after they lost their passkeys.',
    endpoints: invitationsApi,
  },
  {
    tag: 'OAuth clients',
    about:
      'Programs that people connect by their browser: requests, decisions, devices and registered clients.',
    endpoints: [...oauthApi, ...ownGrantsApi, ...oauthClientsApi, ...agentConnectorsApi],
  },
  {
    tag: 'External identities',
    about: 'The identities of a principal at identity providers.',
    endpoints: externalIdentitiesApi,
  },
  {
    tag: 'Authentication contexts',
    about: 'Recorded sign-ins of people, which issuing a token requires.',
    endpoints: authenticationContextsApi,
  },
  {
    tag: 'Legacy credentials',
    about: 'Keys of an older system, imported for a transition period.',
    endpoints: legacyCredentialsApi,
  },
  {
    tag: 'Provisioning sources',
    about: 'The directories that provision the users and groups of a tenant, and their tokens.',
    endpoints: [...provisioningSourcesApi, ...provisioningTokensApi],
  },
  {
    tag: 'SCIM',
    about: 'Users and groups that a directory provisions (RFC 7644).',
    endpoints: [...scimUsersApi, ...scimGroupsApi, ...rootSearchApi, ...discoveryApi],
  },
  {
    tag: 'Events',
    about: 'The journal of all changes, in order.',
    endpoints: eventsApi,
  },
  {
    tag: 'Audit log',
    about: 'Actions, their actors, and refused requests.',
    endpoints: auditRecordsApi,
  },
  {
    tag: 'Health',
    about: 'Liveness and readiness of the service.',
    endpoints: healthApi,
  },
];

export const endpoints: readonly Endpoint<Context>[] = sections.flatMap((section) => section.endpoints);
