import { Timestamp, Uuid } from '@baton/kernel/wire';
import { z } from 'zod';

/** A key of our own for a principal, without the key itself (core, section 4.1). */
export const ApiKey = z.strictObject({
  id: Uuid,
  principalId: Uuid,
  keyPrefix: z.string(),
  permissions: z.array(z.string()),
  expiresAt: Timestamp.nullable(),
  lastUsedAt: Timestamp.nullable(),
  revokedAt: Timestamp.nullable(),
  createdAt: Timestamp,
});
export type ApiKey = z.infer<typeof ApiKey>;

/** With the key: in the answer that makes it and nowhere else; null in a repeated one. */
export const IssuedApiKey = ApiKey.extend({ key: z.string().nullable() });
export type IssuedApiKey = z.infer<typeof IssuedApiKey>;

export interface ApiKeyRow {
  id: string;
  principal_id: string;
  key_prefix: string;
  permissions: string[];
  expires_at: string | null;
  last_used_at: string | null;
  revoked_at: string | null;
  created_at: string;
}

export function apiKeyOf(row: ApiKeyRow): ApiKey {
  return {
    id: row.id,
    principalId: row.principal_id,
    keyPrefix: row.key_prefix,
    permissions: row.permissions,
    expiresAt: row.expires_at,
    lastUsedAt: row.last_used_at,
    revokedAt: row.revoked_at,
    createdAt: row.created_at,
  };
}
