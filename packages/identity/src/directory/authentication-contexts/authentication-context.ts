import { z } from 'zod';
import { type RowOf, wireMapper } from '@baton/kernel/database/row';
import { InstantInput, Timestamp, Uuid } from '@baton/values/wire';
import { characters, Issuer, NameSet } from '../../service/fields.ts';
import type { Tables } from '../../service/schema.ts';

export type AuthenticationContextRow = Pick<
  RowOf<Tables['authentication_contexts']>,
  'id' | 'principal_id' | 'issuer' | 'acr' | 'amr' | 'auth_time' | 'recorded_at'
>;

export const AuthenticationContext = z
  .strictObject({
    id: Uuid,
    principalId: Uuid,
    issuer: z.string(),
    acr: z.string().nullable(),
    amr: z.array(z.string()),
    authTime: Timestamp,
    recordedAt: Timestamp,
    source: z.literal('bootstrap'),
  })
  .meta({ id: 'AuthenticationContext' });
export type AuthenticationContext = z.infer<typeof AuthenticationContext>;

export const authenticationContextOf = wireMapper<AuthenticationContextRow>()(AuthenticationContext, {
  source: () => 'bootstrap' as const,
});

export const NewAuthenticationContext = z
  .strictObject({
    issuer: Issuer,
    acr: characters(0, 200).nullish(),
    amr: NameSet.default([]),
    authTime: InstantInput.nullish().describe('The time of the sign-in; never later than now.'),
    externalIdentityId: Uuid.nullish(),
  })
  .meta({ id: 'NewAuthenticationContext' });
export type NewAuthenticationContext = z.infer<typeof NewAuthenticationContext>;
