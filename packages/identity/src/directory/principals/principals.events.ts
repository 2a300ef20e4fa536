import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Timestamp, Uuid } from '@baton/values/wire';
import { PrincipalKind } from './principal.ts';

/** The creator; absent if it is the admin. */
const origin = { identityProvider: z.string().optional(), provisioningSource: z.string().optional() };

export const principalCreated = defineEvent(
  'principal.created',
  'principal',
  z.strictObject({ principalId: Uuid, kind: PrincipalKind, ...origin }),
);

export const principalDisabled = defineEvent(
  'principal.disabled',
  'principal',
  z.strictObject({
    principalId: Uuid,
    revokedCredentials: z.int(),
    provisioningSource: z.string().optional(),
  }),
);

/** Sessions from before the principal was disabled are not valid again, because the revoked tokens stay revoked. */
export const principalEnabled = defineEvent(
  'principal.enabled',
  'principal',
  z.strictObject({
    principalId: Uuid,
    sessionsNotBefore: Timestamp,
    provisioningSource: z.string().optional(),
  }),
);

export const principalUpdated = defineEvent(
  'principal.updated',
  'principal',
  z.strictObject({ principalId: Uuid }),
);
