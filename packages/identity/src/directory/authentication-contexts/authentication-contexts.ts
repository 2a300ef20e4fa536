import { randomUUID } from 'node:crypto';
import type { Db } from '@baton/kernel/database/db';
import { audit } from '../../records/audit.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { hasExternalIdentity } from '../external-identities/external-identities.ts';
import { getLockedPrincipal } from '../principals/principals.ts';
import { refuseClosedTenant } from '../tenants/tenants.ts';
import {
  type AuthenticationContext,
  type AuthenticationContextRow,
  authenticationContextOf,
  type NewAuthenticationContext,
} from './authentication-context.ts';
import { findNewestContext, insertContext } from './authentication-contexts.sql.ts';

/**
 * Records a sign-in that the admin confirms. Its age counts from when it was recorded, by the database's clock.
 * @throws Refusal `tenant_not_found`, `principal_not_found`, `principal_not_active`, `human_principal_required`,
 * `external_identity_not_found`
 */
export async function recordAuthenticationContext(
  context: Context,
  tenantId: string,
  principalId: string,
  request: NewAuthenticationContext,
): Promise<AuthenticationContext> {
  const { db } = context;
  const { issuer, amr } = request;
  // Null means the same as an absent field.
  const [acr, authTime, externalIdentityId] = [
    request.acr ?? null,
    request.authTime ?? null,
    request.externalIdentityId ?? null,
  ];
  await refuseClosedTenant(db, tenantId);
  const principal = await getLockedPrincipal(db, tenantId, principalId);
  if (principal.status !== 'active') fail('principal_not_active');
  if (principal.kind !== 'human') fail('human_principal_required');
  if (externalIdentityId !== null && !(await hasExternalIdentity(db, principalId, externalIdentityId)))
    fail('external_identity_not_found');

  const id = randomUUID();
  const made = { id, tenantId, principalId, issuer, acr, amr, authTime, externalIdentityId };
  const row = (await db.row(insertContext(made))) as AuthenticationContextRow;
  const reason = `principal:${principalId} acr:${acr || 'none'}`;
  audit(context, {
    tenantId,
    action: 'authentication_contexts.record',
    resource: ['authentication_context', id],
    reason,
  });
  return authenticationContextOf(row);
}

/**
 * A person's newest sign-in to a tenant, from any source.
 * @throws Refusal `authentication_context_required`, `authentication_context_expired` beyond `ageSecondsMax`
 */
export async function requireFreshContext(
  db: Db,
  person: { tenantId: string; principalId: string },
  ageSecondsMax: number,
): Promise<AuthenticationContextRow> {
  const newest = await db.row(findNewestContext(person, ageSecondsMax));
  if (newest === undefined) fail('authentication_context_required');
  if (newest.is_expired) fail('authentication_context_expired');
  return newest;
}
