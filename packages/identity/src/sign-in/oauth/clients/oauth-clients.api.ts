import { Uuid } from '@baton/values/wire';
import { tenantParam } from '../../../service/fields.ts';
import { endpoint } from '../../context.ts';
import { NewOauthClient, OauthClient, OauthClientList } from './oauth-client.ts';
import { oauthClientDeleted, oauthClientRegistered } from './oauth-clients.events.ts';
import { deleteOauthClient, listOauthClients, registerOauthClient } from './oauth-clients.ts';

export const register = endpoint({
  id: 'registerOauthClient',
  method: 'POST',
  path: '/tenants/{tenantId}/oauth-clients',
  summary: 'Register an OAuth client of the tenant.',
  description:
    'It is public, without a secret: PKCE protects its codes. Clients whose id is the address of their metadata document need no registration.',
  params: tenantParam,
  body: NewOauthClient,
  returns: { 201: OauthClient },
  errors: ['tenant_not_found', 'too_many_oauth_clients'],
  emits: [oauthClientRegistered],
  example: { name: 'Release bot', redirectUris: ['https://bot.example/callback'] },
  handle: ({ params, body }, context) => registerOauthClient(context, params.tenantId, body),
});

export const list = endpoint({
  id: 'listOauthClients',
  method: 'GET',
  path: '/tenants/{tenantId}/oauth-clients',
  summary: 'List the registered OAuth clients of the tenant: at most 100.',
  params: tenantParam,
  returns: { 200: OauthClientList },
  errors: ['tenant_not_found'],
  handle: ({ params }, { db }) => listOauthClients(db, params.tenantId),
});

export const remove = endpoint({
  id: 'deleteOauthClient',
  method: 'DELETE',
  path: '/tenants/{tenantId}/oauth-clients/{oauthClientId}',
  summary: 'Delete a registered OAuth client.',
  description:
    'It can no longer request or refresh access; revoke its grants to end its access tokens at once.',
  params: { ...tenantParam, oauthClientId: Uuid },
  returns: { 204: null },
  errors: ['oauth_client_not_found'],
  emits: [oauthClientDeleted],
  handle: ({ params }, context) => deleteOauthClient(context, params.tenantId, params.oauthClientId),
});

export const oauthClientsApi = [register, list, remove];
