import { z } from 'zod';
import { type RowOf, wireMapper } from '@baton/kernel/database/row';
import { Timestamp, Uuid } from '@baton/values/wire';
import { Reason } from '../../service/fields.ts';
import { pagesByCreation } from '../../service/pages.ts';
import type { Tables } from '../../service/schema.ts';

type RequestColumns = RowOf<Tables['sign_in_requests']>;

const SignInRequestStatus = z.enum(['pending', 'admitted', 'refused', 'expired']);

/** A request, with the key of its provider. */
export type SignInRequestRow = Omit<RequestColumns, 'status' | 'identity_provider_id' | 'address_hash'> & {
  identity_provider_id: string;
  identity_provider: string;
  status: z.infer<typeof SignInRequestStatus>;
};

/** A person who signed in through a provider and whom an administrator has to admit. */
export const SignInRequest = z
  .strictObject({
    id: Uuid,
    tenantId: Uuid,
    identityProvider: z.string(),
    principalId: Uuid.describe('The id that the principal gets if the person is admitted.'),
    displayName: z.string().describe('As the provider states it, without control characters.'),
    email: z.string().nullable(),
    emailVerified: z.boolean(),
    issuer: z.string(),
    subject: z.string(),
    status: SignInRequestStatus,
    attempts: z.int(),
    createdAt: Timestamp,
    lastAttemptAt: Timestamp,
    expiresAt: Timestamp.describe('Of a refused request: until then the person cannot make another.'),
    decidedAt: Timestamp.nullable(),
    decisionReason: z.string(),
  })
  .meta({ id: 'SignInRequest' });
export type SignInRequest = z.infer<typeof SignInRequest>;

export const signInRequestOf = wireMapper<SignInRequestRow>()(SignInRequest, {});

export const signInRequestPages = pagesByCreation('sign-in-requests', SignInRequest);

export const signInRequestQuery = {
  ...signInRequestPages.query,
  status: SignInRequestStatus.optional(),
};
export type SignInRequestQuery = z.infer<z.ZodObject<typeof signInRequestQuery>>;

const daySeconds = 86_400;

export const SignInRefusal = z
  .strictObject({
    reason: Reason.default(''),
    forSeconds: z
      .int()
      .min(60)
      .max(365 * daySeconds)
      .default(7 * daySeconds)
      .describe('How long the person cannot make another request.'),
  })
  .meta({ id: 'SignInRefusal' });
export type SignInRefusal = z.infer<typeof SignInRefusal>;
