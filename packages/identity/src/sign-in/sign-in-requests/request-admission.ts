import { randomUUID } from 'node:crypto';
import { clientOfAddress } from '@baton/kernel/listener/counted-address';
import { audit } from '../../records/audit.ts';
import { emit } from '../../records/journal/journal.ts';
import { secretHash } from '../../service/secrets.ts';
import type { Context } from '../context.ts';
import type { OpenProvider } from '../identity-providers/identity-provider.ts';
import { nameOf, type UpstreamIdentity } from '../upstream-token/upstream-token.ts';
import { signInRequestCreated } from './sign-in-requests.events.ts';
import {
  countPendingRequests,
  deleteEndedRequest,
  insertRequest,
  lockTenantForRequests,
  updateAttempts,
} from './sign-in-requests.sql.ts';

/**
 * Stores the request of an unknown person (see docs/reference/sign-in-requests.md). Nothing new is stored for a person
 * who signs in repeatedly or after a refusal, nor for anybody while the tenant, the provider or the address has the
 * maximum number of pending requests. The caller responds in the same way in all of these cases.
 */
export async function requestAdmission(
  context: Context,
  provider: OpenProvider,
  identity: UpstreamIdentity,
): Promise<undefined> {
  const { db, settings } = context;
  const { tenant_id: tenantId, issuer, id: providerId } = provider;
  const asking = { tenantId, issuer, subject: identity.subject };
  await db.run(deleteEndedRequest(asking));
  if ((await db.row(updateAttempts(asking))) !== undefined) return;
  await db.run(lockTenantForRequests(tenantId));
  // A rival sign-in of the same person may have stored the request during the wait.
  if ((await db.row(updateAttempts(asking))) !== undefined) return;
  const addressHash = secretHash(`${tenantId} ${clientOfAddress(context.address)}`);
  if (await isFull(context, provider, addressHash)) {
    context.log.warn(
      { tenantId, identityProvider: provider.key },
      'a sign-in request was not stored, because the maximum number is pending',
    );
    return;
  }
  const { externalId, email, isEmailVerified } = identity;
  const stored = await db.row(
    insertRequest({
      ...asking,
      id: randomUUID(),
      principalId: randomUUID(),
      providerId,
      externalId,
      displayName: nameOf(provider, identity),
      email: email ?? null,
      emailVerified: isEmailVerified,
      expiresInSeconds: settings.IAM_SIGN_IN_REQUEST_SECONDS,
      addressHash,
    }),
  );
  if (stored === undefined) return;
  const payload = { signInRequestId: stored.id, identityProvider: provider.key };
  emit(context, signInRequestCreated, { tenantId, aggregateId: stored.id }, payload);
  audit(context, {
    tenantId,
    action: 'sign_in_requests.create',
    resource: ['sign_in_request', stored.id],
    reason: `provider:${provider.key}`,
    actor: `provider:${provider.key}`,
  });
}

/** A provider may have half of the requests of the tenant, and an address a quarter. */
async function isFull(
  { db, settings }: Context,
  { tenant_id, id }: OpenProvider,
  addressHash: string,
): Promise<boolean> {
  const pending = await db.row(countPendingRequests({ tenantId: tenant_id, providerId: id, addressHash }));
  const { of_tenant: ofTenant = 0, of_provider: ofProvider = 0, of_address: ofAddress = 0 } = pending ?? {};
  const max = settings.IAM_SIGN_IN_REQUESTS_MAX;
  return ofTenant >= max || ofProvider >= Math.ceil(max / 2) || ofAddress >= Math.ceil(max / 4);
}
