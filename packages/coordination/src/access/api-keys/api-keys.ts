import { newId } from '@baton/values/ids';
import { emit } from '../../ledger/journal/journal.ts';
import { viewerOf } from '../../service/sight/sight.ts';
import { newKey } from '../authn/key-material.ts';
import { lockPrincipal } from '../authn/principal-lock.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { parsePermissions, refuseEscalation, refuseForKind } from '../permission-list.ts';
import { type ApiKey, type ApiKeyRequest, apiKeyOf, type IssuedApiKey } from './api-key.ts';
import { apiKeyCreated, apiKeyRevoked } from './api-keys.events.ts';
import { findApiKey, findLiveApiKeys, insertApiKey, updateApiKeyToRevoked } from './api-keys.sql.ts';

/**
 * Creates an API key for a principal. See docs/reference/access.md#api-keys.
 * @throws Refusal `invalid_permissions`, `permission_escalation`, `visibility_escalation`, `not_found`,
 * `permissions_not_allowed_for_kind`, 422 `principal_not_active`
 */
export async function createApiKey(
  context: Context,
  principalId: string,
  request: ApiKeyRequest,
): Promise<IssuedApiKey> {
  const permissions = parsePermissions(request.permissions);
  refuseEscalation(context.caller.permissions, permissions);
  const viewer = await viewerOf(context);
  // The key of another principal may see what the caller doesn't.
  if (viewer !== null && viewer !== principalId) fail('visibility_escalation');
  const principal = await lockPrincipal(context, principalId);
  refuseForKind(principal.kind, permissions);
  if (principal.status !== 'active') fail('principal_not_active', { principalId }, { status: 422 });
  const key = await insertNewKey(context, { principalId, permissions, expiresAt: request.expiresAt });
  emit(context, apiKeyCreated, { entityId: key.id }, { principalId, keyPrefix: key.keyPrefix, permissions });
  return key;
}

/** Stores a new API key; the caller checks the permissions. Only the response contains the key. */
export async function insertNewKey(
  { db, tenantId }: Pick<Context, 'db' | 'tenantId'>,
  grant: {
    kind?: 'usual' | 'emergency';
    principalId: string;
    permissions: readonly string[];
    expiresAt?: string | null | undefined;
    lifeSeconds?: number;
  },
): Promise<IssuedApiKey> {
  const { key, prefix, hash } = newKey(grant.kind);
  const { principalId, permissions, expiresAt = null, lifeSeconds = null } = grant;
  const values = { id: newId(), tenantId, principalId, prefix, hash, permissions, expiresAt, lifeSeconds };
  const row = await db.row(insertApiKey(values));
  if (row === undefined) throw new Error('a new key was not stored');
  return { ...apiKeyOf(row), key };
}

/**
 * Revokes a key; revoking it again changes nothing.
 * @throws Refusal `not_found`
 */
export async function revokeApiKey(context: Context, keyId: string): Promise<ApiKey> {
  const { db, tenantId } = context;
  const revoked = await db.row(updateApiKeyToRevoked(tenantId, keyId));
  if (revoked === undefined)
    return apiKeyOf((await db.row(findApiKey(tenantId, keyId))) ?? fail('not_found', { keyId }));
  emit(context, apiKeyRevoked, { entityId: keyId }, { keyPrefix: revoked.key_prefix });
  return apiKeyOf(revoked);
}

/** The permissions of each of a principal's API keys that is neither revoked nor expired. */
export async function livePermissionsOfKeys(context: Context, principalId: string): Promise<string[][]> {
  const keys = await context.db.rows(findLiveApiKeys(context.tenantId, principalId));
  return keys.map(({ permissions }) => permissions);
}
