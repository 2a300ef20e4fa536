import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Timestamp, Uuid } from '@baton/values/wire';

export const apiKeyCreated = defineEvent(
  'api_key.created',
  'api_key',
  z.strictObject({ principalId: Uuid, keyPrefix: z.string(), permissions: z.array(z.string()) }),
);

/**
 * `breakGlass` and `issuedBy` are present if the command for revoking all emergency keys revoked the key.
 */
export const apiKeyRevoked = defineEvent(
  'api_key.revoked',
  'api_key',
  z.strictObject({
    keyPrefix: z.string(),
    breakGlass: z.literal(true).optional(),
    issuedBy: z.string().optional(),
  }),
);

export const breakGlassIssued = defineEvent(
  'api_key.break_glass_issued',
  'api_key',
  z.strictObject({
    principalId: Uuid,
    keyPrefix: z.string(),
    permissions: z.array(z.string()),
    expiresAt: Timestamp,
    ttlSeconds: z.int(),
    reason: z.string(),
    issuedBy: z.string(),
  }),
);
