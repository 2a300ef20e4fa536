import { newId } from '@baton/values/ids';
import { insertNewKey } from '../../access/api-keys/api-keys.ts';
import { resolveAccess } from '../../access/grants/granted-access.ts';
import { bindNewIdentity } from '../../access/iam-bindings/iam-bindings.ts';
import { principalOf } from '../../access/principals/principal.ts';
import { emit, flushEvents } from '../../ledger/journal/journal.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { tenantBootstrapped } from './bootstrap.events.ts';
import { findAdmin, findAnyTenant, findTenant, lockTenants } from './bootstrap.sql.ts';
import { foundTenant } from './found-tenant.ts';
import { type BootstrappedTenant, type BootstrapRequest, tenantOf } from './tenant.ts';

/**
 * The lifetime of the administrator's key if CP_LEGACY_API_KEYS_ENABLED is off: the key isn't accepted then anyway.
 * Otherwise it doesn't expire.
 */
const adminKeyLifeSeconds = 86_400;

/**
 * Creates the installation's tenant with its administrator, once. See docs/reference/access.md#bootstrap.
 * @throws Refusal `already_bootstrapped`
 */
export async function bootstrap(context: Context, request: BootstrapRequest): Promise<BootstrappedTenant> {
  const { db, settings, log } = context;
  await db.run(lockTenants());
  if ((await db.row(findAnyTenant())) !== undefined) fail('already_bootstrapped');

  const { tenantId, adminPrincipalId } = await foundTenant(db, request);
  // The bootstrap secret has no tenant: from here on the command belongs to the new one.
  const inTenant = { ...context, tenantId };
  const apiKey = await insertNewKey(inTenant, {
    principalId: adminPrincipalId,
    permissions: ['admin'],
    ...(settings.CP_LEGACY_API_KEYS_ENABLED ? {} : { lifeSeconds: adminKeyLifeSeconds }),
  });
  const identity = request.iamBinding;
  const bindingId = newId();
  emit(
    inTenant,
    tenantBootstrapped,
    { entityId: tenantId },
    {
      slug: request.tenantSlug,
      adminPrincipalId,
      apiKeyId: apiKey.id,
      apiKeyPrefix: apiKey.keyPrefix,
      ...(identity && { iamBindingId: bindingId, iamPrincipalId: identity.iamPrincipalId }),
    },
  );
  // The role has all permissions by name, so that they also apply to a token with only the read and write scopes, which
  // never has `admin`.
  const access = await resolveAccess(inTenant, 'human', { accessRole: 'administrator' });
  const grant = { id: bindingId, principalId: adminPrincipalId, ...access, visibility: 'tenant' as const };
  const iamBinding = identity ? await bindNewIdentity(inTenant, { ...grant, ...identity }) : undefined;
  if (!identity) log.warn('bootstrapped without iamBinding: no access token is accepted yet');
  await flushEvents(inTenant);
  return { ...(await findBootstrapped(inTenant, adminPrincipalId)), apiKey, iamBinding: iamBinding ?? null };
}

async function findBootstrapped({ db, tenantId }: Context, adminPrincipalId: string) {
  const tenant = await db.row(findTenant(tenantId));
  const admin = await db.row(findAdmin(tenantId, adminPrincipalId));
  if (tenant === undefined || admin === undefined) throw new Error('the new tenant was not found');
  return { tenant: tenantOf(tenant), adminPrincipal: principalOf(admin) };
}
