import { newId } from '@baton/kernel/ids';
import { newKey } from '../authn/key-material.ts';
import type { Context } from '../context.ts';
import { apiKeyOf, type IssuedApiKey } from './api-key.ts';
import { insertKey } from './api-keys.sql.ts';

/** Makes a key for a principal of the tenant; what may be granted was checked before. */
export async function insertNewKey(
  { db, tenantId }: Pick<Context, 'db' | 'tenantId'>,
  grant: {
    kind?: 'usual' | 'emergency';
    principalId: string;
    permissions: readonly string[];
    expiresAt?: string | null | undefined;
    lifeSeconds?: number;
  },
): Promise<IssuedApiKey & { key: string }> {
  const { key, prefix, hash } = newKey(grant.kind);
  const { principalId, permissions, expiresAt = null, lifeSeconds = null } = grant;
  const values = { id: newId(), tenantId, principalId, prefix, hash, permissions, expiresAt, lifeSeconds };
  const row = await db.row(insertKey(values));
  if (row === undefined) throw new Error('a new key was not stored');
  return { ...apiKeyOf(row), key };
}
