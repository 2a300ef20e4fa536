import { z } from 'zod';
import { type RowOf, wireMapper } from '@baton/kernel/database/row';
import { QueryFlag, queryInteger, Timestamp, Uuid } from '@baton/values/wire';
import { CredentialKind } from '../../directory/revocation/credentials.events.ts';
import { Name, NameSet, names as namesOf } from '../../service/fields.ts';
import { cursorParam, rowsPerPageMax } from '../../service/pages.ts';
import type { Tables } from '../../service/schema.ts';

/** All columns. The hash of the secret is used only in the statements that compare it. */
export type TokenColumns = RowOf<Tables['platform_access_tokens']>;

/** The metadata of a token. */
export type PlatformAccessTokenRow = Pick<
  TokenColumns,
  | 'id'
  | 'tenant_id'
  | 'principal_id'
  | 'kind'
  | 'name'
  | 'public_prefix'
  | 'audiences'
  | 'scope_ceiling'
  | 'created_at'
  | 'expires_at'
  | 'last_used_at'
  | 'revoked_at'
  | 'revoke_reason'
  | 'rotated_from_id'
>;

/** The sign-in that a token is based on; absent for agents and imported keys. */
export type SignInSnapshot = Pick<
  TokenColumns,
  'origin' | 'authentication_context_id' | 'auth_issuer' | 'acr' | 'amr' | 'auth_time'
>;

const names = z.array(z.string());

/** A token in responses: everything except its secret. */
export const PlatformAccessToken = z
  .strictObject({
    id: Uuid,
    tenantId: Uuid,
    principalId: Uuid,
    name: z.string(),
    kind: CredentialKind,
    publicPrefix: z.string(),
    audiences: names,
    scopeCeiling: names,
    createdAt: Timestamp,
    expiresAt: Timestamp,
    lastUsedAt: Timestamp.nullable(),
    revokedAt: Timestamp.nullable(),
    revokeReason: z.string().describe('Empty while the token is active.'),
    rotatedFromId: Uuid.nullable(),
  })
  .meta({ id: 'PlatformAccessToken' });
export type PlatformAccessToken = z.infer<typeof PlatformAccessToken>;

export const platformAccessTokenOf = wireMapper<PlatformAccessTokenRow>()(PlatformAccessToken, {});

/** The name to which the cursors of its list are bound. */
export const listName = 'platform-access-tokens';

export const listQuery = {
  principalId: Uuid.optional(),
  includeRevoked: QueryFlag.default(false),
  limit: queryInteger(1, rowsPerPageMax).optional(),
  after: cursorParam(listName),
};
export type ListQuery = z.infer<z.ZodObject<typeof listQuery>>;

/** A token that was issued or rotated; only the first response contains its secret. */
export const IssuedToken = z
  .strictObject({
    credential: PlatformAccessToken,
    token: z.string().nullable().describe('The secret, only in the first response.'),
  })
  .meta({ id: 'IssuedToken' });
export type IssuedToken = z.infer<typeof IssuedToken>;

export const ttlSecondsMin = 60;

export const NewPlatformAccessToken = z
  .strictObject({
    name: Name,
    audiences: namesOf(1).pipe(NameSet),
    scopeCeiling: NameSet.default([]),
    expiresInSeconds: z.int().min(ttlSecondsMin).nullish(),
  })
  .meta({ id: 'NewPlatformAccessToken' });
export type NewPlatformAccessToken = z.infer<typeof NewPlatformAccessToken>;

/** A complete token, as its bearer presents it in a request body. */
export const presentedSecretLengthMax = 16_384;
export const PresentedSecret = z
  .string()
  .min(1)
  .max(presentedSecretLengthMax)
  .describe('The secret of a platform access token, or an imported key.');
