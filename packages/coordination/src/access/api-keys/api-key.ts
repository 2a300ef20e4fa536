import { z } from 'zod';
import { type RowOf, wireMapper } from '@baton/kernel/database/row';
import { InstantInput, Timestamp, Uuid } from '@baton/values/wire';
import type { Tables } from '../../service/schema.ts';
import { PermissionList } from '../granting.ts';

/** An API key of a principal, without the key itself (core, section 4.1). */
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

/** With the key: in the answer that makes it and nowhere else; null in a repeated one. */
export const IssuedApiKey = ApiKey.extend({ key: z.string().nullable() }).meta({ id: 'IssuedApiKey' });
export type IssuedApiKey = z.infer<typeof IssuedApiKey>;

export const ApiKeyRequest = z
  .strictObject({ permissions: PermissionList.min(1), expiresAt: InstantInput.nullish() })
  .meta({ id: 'ApiKeyRequest' });
export type ApiKeyRequest = z.output<typeof ApiKeyRequest>;

export type ApiKeyRow = RowOf<Tables['api_keys']>;

export const apiKeyOf = wireMapper<ApiKeyRow>()(ApiKey, {});
