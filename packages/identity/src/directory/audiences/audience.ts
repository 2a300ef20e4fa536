import { z } from 'zod';
import type { RowOf } from '@baton/kernel/database/row';
import { Uuid } from '@baton/values/wire';
import { Key, NameSet, Status } from '../../service/fields.ts';
import type { Tables } from '../../service/schema.ts';

/** The algorithms that can sign the access tokens of an audience. */
export const SigningAlgorithm = z.enum(['RS256', 'ES256', 'EdDSA']);
export type SigningAlgorithm = z.infer<typeof SigningAlgorithm>;

/** The algorithms for which this process has a key; implemented by the signing keys, in a layer above. */
export interface SigningAlgorithms {
  isAvailable(algorithm: SigningAlgorithm): boolean;
}

/** An audience in responses. */
export type AudienceRow = Omit<RowOf<Tables['audiences']>, 'created_at'>;

export const Audience = z
  .strictObject({
    id: Uuid,
    tenant_id: Uuid,
    key: z.string(),
    allowed_scopes: z.array(z.string()),
    signing_algorithm: SigningAlgorithm,
    status: Status,
  })
  .meta({ id: 'Audience' });

/** Scopes are opaque; the operation checks their format after it has checked the tenant. */
export const NewAudience = z
  .strictObject({
    key: Key,
    allowedScopes: NameSet.default([]),
    signingAlgorithm: SigningAlgorithm.default('RS256').describe(
      'The algorithm that signs its access tokens. Algorithms other than RS256 require a key from the operator and consumers that accept them.',
    ),
  })
  .meta({ id: 'NewAudience' });
export type NewAudience = z.infer<typeof NewAudience>;

/** If the status is absent, the list of scopes is required. */
export const AudienceChange = z
  .strictObject({
    allowedScopes: NameSet.optional().describe('Replaces the whole list. Optional if a status is sent.'),
    signingAlgorithm: SigningAlgorithm.optional().describe(
      'Applies from the next exchange on; tokens issued before remain valid.',
    ),
    status: Status.optional().describe('`disabled` closes the audience to every exchange at once.'),
  })
  .superRefine(({ allowedScopes, status }, { addIssue }) => {
    if (allowedScopes === undefined && status === undefined)
      addIssue({ code: 'invalid_type', expected: 'array', input: undefined, path: ['allowedScopes'] });
  })
  .meta({ id: 'AudienceChange' });
export type AudienceChange = z.infer<typeof AudienceChange>;
