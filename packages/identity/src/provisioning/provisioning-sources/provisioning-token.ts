import { z } from 'zod';
import { type RowOf, wireMapper } from '@baton/kernel/database/row';
import { Timestamp, Uuid } from '@baton/values/wire';
import { Name } from '../../service/fields.ts';
import type { Tables } from '../../service/schema.ts';

const yearSeconds = 31_536_000;

export const NewProvisioningToken = z
  .strictObject({
    name: Name,
    expiresInSeconds: z.int().min(60).max(yearSeconds).default(yearSeconds),
  })
  .meta({ id: 'NewProvisioningToken' });
export type NewProvisioningToken = z.infer<typeof NewProvisioningToken>;

const token = {
  id: Uuid,
  name: z.string(),
  publicPrefix: z.string(),
  createdAt: Timestamp,
  expiresAt: Timestamp,
};

export const ProvisioningToken = z
  .strictObject({ ...token, revokedAt: Timestamp.nullable() })
  .meta({ id: 'ProvisioningToken' });
export type ProvisioningToken = z.infer<typeof ProvisioningToken>;

export const IssuedProvisioningToken = z
  .strictObject({
    ...token,
    token: z.string().nullable().describe('The secret, only in the first response.'),
  })
  .meta({ id: 'IssuedProvisioningToken' });
export type IssuedProvisioningToken = z.infer<typeof IssuedProvisioningToken>;

export type ProvisioningTokenRow = Pick<
  RowOf<Tables['provisioning_tokens']>,
  'id' | 'name' | 'public_prefix' | 'created_at' | 'expires_at' | 'revoked_at'
>;

export const provisioningTokenOf = wireMapper<ProvisioningTokenRow>()(ProvisioningToken, {});

const issuedOf = wireMapper<ProvisioningTokenRow>()(IssuedProvisioningToken, { token: () => null });

/** @param secret null in a replayed response: the secret is shown once */
export function issuedTokenOf(row: ProvisioningTokenRow, secret: string | null): IssuedProvisioningToken {
  return { ...issuedOf(row), token: secret };
}
