import { z } from 'zod';
import { Timestamp, Uuid } from '@baton/values/wire';

/** A token of identity with which a person administers the identities of their tenant. */
export const IdentityAdministrationToken = z
  .strictObject({
    id: Uuid,
    token: z.string().meta({
      description: 'Sent to identity as `Authorization: Bearer`. It is in this response only.',
    }),
    tenantId: Uuid.meta({
      description: 'The tenant in identity: its administration is below `/tenants/{tenantId}`.',
    }),
    expiresAt: Timestamp.meta({ description: 'At most 300 seconds after the sign-in.' }),
  })
  .meta({ id: 'IdentityAdministrationToken' });
export type IdentityAdministrationToken = z.infer<typeof IdentityAdministrationToken>;
