import { randomUUID } from 'node:crypto';
import { allowedScopesOf, refuseWiderCeiling } from '../../directory/audiences/audiences.ts';
import { getLockedPrincipal } from '../../directory/principals/principals.ts';
import { refuseClosedTenant } from '../../directory/tenants/tenants.ts';
import { audit } from '../../records/audit.ts';
import { emit } from '../../records/journal/journal.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import {
  type PlatformAccessToken,
  platformAccessTokenOf,
} from '../platform-access-tokens/platform-access-token.ts';
import {
  legacyCredentialImported,
  payloadOf,
} from '../platform-access-tokens/platform-access-tokens.events.ts';
import { addCredential, noSignIn } from '../platform-access-tokens/platform-access-tokens.ts';
import type { LegacyCredentialImport } from './legacy-credential.ts';

/**
 * Imports a key by its prefix and hash, for a principal of any kind (see docs/reference/credentials.md#legacy-keys).
 * The checks run in the order of the endpoint's `errors`.
 */
export async function importLegacyCredential(
  context: Context,
  tenantId: string,
  { principalId, name, audience, scopeCeiling, expiresInSeconds, ...material }: LegacyCredentialImport,
): Promise<PlatformAccessToken> {
  const { db, settings } = context;
  const [publicPrefix, secretHash] = [material.keyPrefix.toLowerCase(), material.keyHash.toLowerCase()];
  if (!/^[0-9a-f]{12}$/.test(publicPrefix) || !/^[0-9a-f]{64}$/.test(secretHash))
    fail('invalid_credential_material');
  if (expiresInSeconds > settings.IAM_LEGACY_CREDENTIAL_MAX_TTL_SECONDS)
    fail('compatibility_window_too_long');
  await refuseClosedTenant(db, tenantId);
  const principal = await getLockedPrincipal(db, tenantId, principalId);
  if (principal.status !== 'active') fail('principal_not_active');
  refuseWiderCeiling(scopeCeiling, await allowedScopesOf(db, tenantId, [audience]));

  const made = await addCredential(db, {
    id: randomUUID(),
    tenantId,
    principalId,
    kind: 'legacy_control_plane_api_key',
    name,
    publicPrefix,
    secretHash,
    audiences: [audience],
    scopeCeiling,
    snapshot: { origin: 'migration', ...noSignIn },
    ttlSeconds: expiresInSeconds,
    expiresAt: null,
    rotatedFromId: null,
    idempotencyKey: null,
    fingerprint: null,
  });
  if (made === undefined) fail('credential_exists');
  emit(context, legacyCredentialImported, { tenantId, aggregateId: made.id }, payloadOf(made));
  audit(context, {
    tenantId,
    action: 'legacy_credentials.import',
    resource: ['platform_access_token', made.id],
    reason: `legacy:${publicPrefix}`,
  });
  return platformAccessTokenOf(made);
}
