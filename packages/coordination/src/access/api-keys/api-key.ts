import { z } from 'zod';
import { type RowOf, wireMapper } from '@baton/kernel/database/row';
import { InstantInput, Timestamp, Uuid } from '@baton/values/wire';
import type { Tables } from '../../service/schema.ts';
import { PermissionList } from '../permission-list.ts';

/** An API key of a principal, without the key itself. See docs/reference/access.md#api-keys. */
export const ApiKey = z
  .strictObject({
    id: Uuid,
    principalId: Uuid,
    keyPrefix: z.string(),
    permissions: z.array(z.string()),
    expiresAt: Timestamp.nullable(),
    lastUsedAt: Timestamp.nullable(),
    revokedAt: Timestamp.nullable(),
    createdAt: Timestamp,
  })
  .meta({ id: 'ApiKey' });
export type ApiKey = z.infer<typeof ApiKey>;

/** The key itself, only in the response to its creation; null in a replayed response. */
export const IssuedApiKey = ApiKey.extend({ key: z.string().nullable() }).meta({ id: 'IssuedApiKey' });
export type IssuedApiKey = z.infer<typeof IssuedApiKey>;

export const ApiKeyRequest = z
  .strictObject({ permissions: PermissionList.min(1), expiresAt: InstantInput.nullish() })
  .meta({ id: 'ApiKeyRequest' });
export type ApiKeyRequest = z.output<typeof ApiKeyRequest>;

export type ApiKeyRow = RowOf<Tables['api_keys']>;

export const apiKeyOf = wireMapper<ApiKeyRow>()(ApiKey, {});
