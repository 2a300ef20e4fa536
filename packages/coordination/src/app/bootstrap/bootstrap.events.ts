import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Uuid } from '@baton/values/wire';

/** The last two fields are absent if no identity was bound. */
export const tenantBootstrapped = defineEvent(
  'tenant.bootstrapped',
  'tenant',
  z.strictObject({
    slug: z.string(),
    adminPrincipalId: Uuid,
    apiKeyId: Uuid,
    apiKeyPrefix: z.string(),
    iamBindingId: Uuid.optional(),
    iamPrincipalId: Uuid.optional(),
  }),
);
