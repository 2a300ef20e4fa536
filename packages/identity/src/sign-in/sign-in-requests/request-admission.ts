import { randomUUID } from 'node:crypto';
import { audit } from '../../records/audit.ts';
import { emit } from '../../records/journal/journal.ts';
import type { Context } from '../context.ts';
import type { OpenProvider } from '../identity-providers/identity-provider.ts';
import type { UpstreamIdentity } from '../upstream-token/upstream-token.ts';
import { signInRequestCreated } from './sign-in-requests.events.ts';
import {
  countPendingRequests,
  deleteEndedRequest,
  insertRequest,
  lockTenantForRequests,
  updateAttempts,
} from './sign-in-requests.sql.ts';

const nameLengthMax = 200;

/**
 * Stores the request of an unknown person (see docs/reference/sign-in-requests.md). Nothing new is stored for a person
 * who signs in repeatedly or after a refusal, nor for anybody while the tenant or the provider has the maximum number
 * of pending requests. The caller responds in the same way in all of these cases.
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
  if (await isFull(context, provider)) {
    context.log.warn(
      { tenantId, identityProvider: provider.key },
      'a sign-in request was not stored, because the maximum number is pending',
    );
    return;
  }
  const { externalId, displayName, email, isEmailVerified } = identity;
  const ownName = [...`${provider.key}:${externalId}`].slice(0, nameLengthMax).join('');
  const stored = await db.row(
    insertRequest({
      ...asking,
      id: randomUUID(),
      principalId: randomUUID(),
      providerId,
      externalId,
      displayName: displayName ?? ownName,
      email: email ?? null,
      emailVerified: isEmailVerified,
      expiresInSeconds: settings.IAM_SIGN_IN_REQUEST_SECONDS,
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

async function isFull({ db, settings }: Context, { tenant_id, id }: OpenProvider): Promise<boolean> {
  const { of_tenant: ofTenant = 0, of_provider: ofProvider = 0 } =
    (await db.row(countPendingRequests(tenant_id, id))) ?? {};
  const max = settings.IAM_SIGN_IN_REQUESTS_MAX;
  return ofTenant >= max || ofProvider >= Math.ceil(max / 2);
}
