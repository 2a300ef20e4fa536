import { z } from 'zod';
import { wireMapper } from '@baton/kernel/database/row';
import { Timestamp, Uuid } from '@baton/values/wire';
import { PresentedSecret } from '../../credentials/platform-access-tokens/platform-access-token.ts';
import { PrincipalKind } from '../../directory/principals/principal.ts';
import { Reason } from '../../service/fields.ts';
import type { TokenRow } from '../exchange/credential.ts';

export const IntrospectionRequest = z
  .strictObject({ token: PresentedSecret })
  .meta({ id: 'IntrospectionRequest' });

export const SelfRevocation = z
  .strictObject({ token: PresentedSecret, reason: Reason.default('logout') })
  .meta({ id: 'SelfRevocation' });

/** The metadata of a token, for its holder. */
export const Introspection = z
  .strictObject({
    tenantId: Uuid,
    principalId: Uuid,
    principalKind: PrincipalKind,
    displayName: z.string(),
    credentialId: Uuid,
    name: z.string(),
    publicPrefix: z.string(),
    audiences: z.array(z.string()),
    scopeCeiling: z.array(z.string()),
    expiresAt: Timestamp,
    issuedAt: Timestamp,
  })
  .meta({ id: 'Introspection' });
export type Introspection = z.infer<typeof Introspection>;

export const introspectionOf = wireMapper<TokenRow>()(Introspection, {
  credentialId: ({ id }) => id,
  issuedAt: ({ created_at }) => created_at,
});
