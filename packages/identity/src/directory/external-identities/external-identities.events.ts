import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Uuid } from '@baton/values/wire';

/** The subject is left out, because it can identify a person. */
export const externalIdentityLinked = defineEvent(
  'external_identity.linked',
  'external_identity',
  z.strictObject({
    externalIdentityId: Uuid,
    principalId: Uuid,
    identityProvider: z.string().optional(),
    provisioningSource: z.string().optional(),
  }),
);
