import { z } from 'zod';
import { Uuid } from '@baton/values/wire';
import { audienceLengthMax, characters, Name, NameSet } from '../../service/fields.ts';

/** A key from the former control plane, by its prefix and hash. */
export const LegacyCredentialImport = z
  .strictObject({
    principalId: Uuid,
    name: Name,
    keyPrefix: characters(12, 12).describe('The public part of the key, hexadecimal.'),
    keyHash: characters(64, 64).describe(
      'SHA-256 of the whole key, hexadecimal. The key itself is never sent.',
    ),
    audience: characters(1, audienceLengthMax),
    scopeCeiling: NameSet.default([]),
    expiresInSeconds: z.int().min(60),
  })
  .meta({ id: 'LegacyCredentialImport' });
export type LegacyCredentialImport = z.infer<typeof LegacyCredentialImport>;
