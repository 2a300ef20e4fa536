import { randomUUID } from 'node:crypto';
import { isMember } from '../../directory/principals/principals.ts';
import { refuseClosedTenant } from '../../directory/tenants/tenants.ts';
import { audit } from '../../records/audit.ts';
import { makeLongSecret } from '../../service/secrets.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import {
  administrationTokenOf,
  type IssuedAdministrationToken,
  type NewAdministrationToken,
  tokensPerPersonMax,
} from './administration-token.ts';
import {
  deleteOldTokens,
  findSignIn,
  findToken,
  insertToken,
  revokeToken,
} from './administration-tokens.sql.ts';

const deletedMax = 100;

/**
 * Issues a token with which a person administers the identities of their tenant (see
 * docs/reference/administration-tokens.md#issue). The caller has checked that the person is an administrator; whether
 * they signed in recently is checked here, by the database's clock.
 * @throws Refusal `tenant_not_found`; `fresh_sign_in_required`, with the same response for every reason
 */
export async function createAdministrationToken(
  context: Context,
  tenantId: string,
  { principalId, credentialId }: NewAdministrationToken,
): Promise<IssuedAdministrationToken> {
  const { db, settings } = context;
  const ageSecondsMax = settings.IAM_ADMINISTRATION_AUTHENTICATION_AGE_SECONDS;
  const idleSecondsMax = settings.IAM_BROWSER_SESSION_IDLE_SECONDS;
  await refuseClosedTenant(db, tenantId);
  const signIn = await db.row(
    findSignIn({ tenantId, principalId, credentialId, idleSecondsMax, ageSecondsMax }),
  );
  if (signIn === undefined || signIn.refusal !== null)
    return refuseSignIn(context, tenantId, principalId, signIn?.refusal ?? 'no_fresh_sign_in');
  const { token, ...secret } = makeLongSecret('adm');
  const row = await db.row(
    insertToken({
      id: randomUUID(),
      tenantId,
      principalId,
      externalIdentityId: signIn.external_identity_id,
      browserSessionId: signIn.browser_session_id,
      ...secret,
      authTime: signIn.auth_time,
      ageSecondsMax,
    }),
  );
  await db.run(deleteOldTokens(tenantId, principalId, tokensPerPersonMax, deletedMax));
  const issued = administrationTokenOf(row as NonNullable<typeof row>);
  audit(context, {
    tenantId,
    action: 'administration_tokens.issue',
    resource: ['administration_token', issued.id],
    reason: `adm:${secret.publicPrefix} sign_in:${credentialId}`,
    actor: principalId,
  });
  return { token, ...issued };
}

async function refuseSignIn(
  context: Context,
  tenantId: string,
  principalId: string,
  reason: string,
): Promise<never> {
  const isKnown = await isMember(context.db, tenantId, principalId);
  if (isKnown)
    audit(context, {
      tenantId,
      action: 'administration_tokens.issue',
      resource: ['principal', principalId],
      outcome: 'denied',
      reason,
      actor: principalId,
    });
  return fail('fresh_sign_in_required', {}, { commits: isKnown, reason });
}

/**
 * Revokes a token; repeating the call changes nothing.
 * @throws Refusal `administration_token_not_found`
 */
export async function revokeAdministrationToken(
  context: Context,
  tenantId: string,
  tokenId: string,
): Promise<undefined> {
  const { db } = context;
  const revoked = await db.row(revokeToken(tenantId, tokenId));
  if (revoked !== undefined)
    audit(context, {
      tenantId,
      action: 'administration_tokens.revoke',
      resource: ['administration_token', tokenId],
    });
  else if ((await db.row(findToken(tenantId, tokenId))) === undefined) fail('administration_token_not_found');
}
