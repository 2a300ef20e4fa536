import { principalParams } from '../../service/fields.ts';
import { endpoint } from '../context.ts';
import { externalIdentityLinked } from './external-identities.events.ts';
import { linkExternalIdentity } from './external-identities.ts';
import { ExternalIdentity, NewExternalIdentity } from './external-identity.ts';

export const link = endpoint({
  id: 'linkExternalIdentity',
  method: 'POST',
  path: '/tenants/{tenantId}/principals/{principalId}/external-identities',
  summary: 'Link a principal to its subject at an identity provider.',
  params: principalParams,
  body: NewExternalIdentity,
  returns: { 201: ExternalIdentity },
  errors: ['principal_not_found', 'identity_provider_managed', 'external_identity_exists'],
  emits: [externalIdentityLinked],
  example: { issuer: 'https://login.example.com', subject: '248289761001' },
  handle: ({ params, body }, context) =>
    linkExternalIdentity(context, params.tenantId, params.principalId, body),
});

export const externalIdentitiesApi = [link];
