import { randomUUID } from 'node:crypto';
import { fingerprintOf } from '@baton/kernel/http/idempotency';
import type { Reply } from '@baton/kernel/http/service';
import { getLockedMember } from '../../directory/principals/principals.ts';
import { refuseClosedTenant } from '../../directory/tenants/tenants.ts';
import { audit } from '../../records/audit.ts';
import { emit } from '../../records/journal/journal.ts';
import { makePlatformAccessToken } from '../../service/secrets.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { replayOf, requireIssuanceKey } from './issuance-key.ts';
import {
  type IssuedToken,
  type PlatformAccessTokenRow,
  platformAccessTokenOf,
} from './platform-access-token.ts';
import { payloadOf, platformAccessTokenRotated } from './platform-access-tokens.events.ts';
import { findOwner, insertCredential, lockCredential, updateRotated } from './platform-access-tokens.sql.ts';

/**
 * Replaces a token with a successor that has the same audiences, ceiling and expiry (see
 * docs/reference/credentials.md#rotate-a-token). It needs no fresh sign-in, and the successor of an imported key is an
 * ordinary token.
 *
 * The principal is locked before the token, in the order in which disabling locks them. The Idempotency-Key is looked
 * up under the token's lock: another request with the same key waits there, and then finds the response.
 * @throws Refusal, in the order of the endpoint's `errors`
 */
export async function rotatePlatformAccessToken(
  context: Context,
  tenantId: string,
  credentialId: string,
): Promise<IssuedToken | Reply<IssuedToken>> {
  const { db } = context;
  const idempotencyKey = requireIssuanceKey(context);
  const fingerprint = fingerprintOf('POST', 'rotate', {}, credentialId);
  const owner = await db.row(findOwner(tenantId, credentialId));
  const principal = owner && (await getLockedMember(db, tenantId, owner.principal_id));
  const former = owner && (await db.row(lockCredential(credentialId)));
  const replay = await replayOf(db, tenantId, idempotencyKey, fingerprint);
  if (replay !== undefined) return replay;

  // A grant to an OAuth client has no secret that could be replaced.
  if (former === undefined || former.kind === 'oauth_grant') fail('credential_not_found');
  if (former.revoked_at !== null || former.is_expired) fail('credential_not_active');
  await refuseClosedTenant(db, tenantId);
  if (principal === undefined) fail('principal_not_found');
  if (principal.status !== 'active') fail('principal_not_active');

  const { token, ...secret } = makePlatformAccessToken();
  const made = await db.row(
    insertCredential({
      id: randomUUID(),
      tenantId,
      principalId: former.principal_id,
      kind: 'platform_access_token',
      name: former.name,
      ...secret,
      audiences: former.audiences,
      scopeCeiling: former.scope_ceiling,
      snapshot: former,
      ttlSeconds: null,
      expiresAt: former.expires_at,
      rotatedFromId: former.id,
      idempotencyKey,
      fingerprint,
    }),
  );
  // The token isn't revoked yet, so if there is a conflict, it stays valid.
  if (made === undefined)
    return (await replayOf(db, tenantId, idempotencyKey, fingerprint)) ?? fail('credential_conflict');
  await db.run(updateRotated(former.id));
  recordRotation(context, made, former);
  return { credential: platformAccessTokenOf(made), token };
}

function recordRotation(
  context: Context,
  made: PlatformAccessTokenRow,
  former: PlatformAccessTokenRow,
): void {
  const { id, tenant_id: tenantId } = made;
  const rotatedFrom = { rotatedFromId: former.id, rotatedFromPrefix: former.public_prefix };
  emit(
    context,
    platformAccessTokenRotated,
    { tenantId, aggregateId: id },
    { ...payloadOf(made), ...rotatedFrom },
  );
  audit(context, {
    tenantId,
    action: 'platform_access_tokens.rotate',
    resource: ['platform_access_token', id],
    reason: `pat:${made.public_prefix} rotated_from:${former.public_prefix}`,
  });
}
