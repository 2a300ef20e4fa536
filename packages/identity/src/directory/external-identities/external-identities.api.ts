import { Timestamp, Uuid } from '@baton/kernel/wire';
import { z } from 'zod';
import { characters, Issuer, principalParams } from '../../service/fields.ts';
import { endpoint } from '../context.ts';
import { externalIdentityLinked } from './external-identities.events.ts';
import { linkExternalIdentity } from './external-identities.ts';

const ExternalIdentity = z.strictObject({
  id: Uuid,
  principal_id: Uuid,
  issuer: z.string(),
  subject: z.string(),
  status: z.enum(['active', 'disabled']),
  created_at: Timestamp,
});

/** Both are one entry of an index, which PostgreSQL bounds by bytes: 2,704 with what stands around them. */
const identityBytesMax = 2600;

const LinkRequest = z
  .strictObject({ issuer: Issuer, subject: characters(1, 500) })
  .refine(
    ({ issuer, subject }) => Buffer.byteLength(issuer) + Buffer.byteLength(subject) <= identityBytesMax,
    {
      path: ['subject'],
      message: `issuer and subject must have at most ${identityBytesMax} bytes together`,
    },
  );
export type LinkRequest = z.infer<typeof LinkRequest>;

export const link = endpoint({
  id: 'linkExternalIdentity',
  method: 'POST',
  path: '/tenants/{tenantId}/principals/{principalId}/external-identities',
  summary: 'Link a principal to its subject at an identity provider.',
  params: principalParams,
  body: LinkRequest,
  returns: { 201: ExternalIdentity },
  errors: ['principal_not_found', 'identity_provider_managed', 'external_identity_exists'],
  emits: [externalIdentityLinked],
  example: { issuer: 'https://login.example.com', subject: '248289761001' },
  handle: ({ params, body }, context) =>
    linkExternalIdentity(context, params.tenantId, params.principalId, body),
});

export const externalIdentitiesApi = [link];
