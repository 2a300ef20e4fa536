import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Uuid } from '@baton/values/wire';

export const delegationCreated = defineEvent(
  'delegation.created',
  'delegation',
  z.strictObject({ humanPrincipalId: Uuid, agentPrincipalId: Uuid, permissions: z.array(z.string()) }),
);

/** `reason` is present for revocations without a request: `principal_disabled`. */
export const delegationRevoked = defineEvent(
  'delegation.revoked',
  'delegation',
  z.strictObject({ reason: z.string().optional() }),
  2,
);
