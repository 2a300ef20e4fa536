import type { Answer } from '@baton/kernel/http/service';
import { emit } from '../../ledger/journal/journal.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import type { IdentityAdministrationToken } from './administration-token.ts';
import { identityAdministrationGranted } from './administration-tokens.events.ts';
import {
  countLiveAdministrations,
  insertAdministration,
  lockAdministrationsOf,
  lockAdministratorBinding,
} from './administration-tokens.sql.ts';
import { type IdentityAdministration, IdentityFailed, type SignInOfPerson } from './identity-client.ts';

export const signInSecondsMax = 300;
const retryAfterSeconds = '5';
/** Identity keeps ten tokens per person. A page requests one, and another one after a reload. */
const liveMax = 20;

/**
 * Has identity issue an administration token, then records it under the locks of the caller and their binding, so that
 * a token is never returned to a person who has lost the right in the meantime. See
 * docs/reference/administration-tokens.md#request-one.
 * @param record runs the second part in its transaction; no row is locked before it
 * @throws Refusal `not_a_person`, `fresh_sign_in_required`, `identity_administration_not_configured`,
 * `identity_administration_unavailable`, `permission_denied`, `rate_limited`
 */
export async function requestAdministrationToken(
  context: Context,
  record: (issued: IdentityAdministrationToken) => Promise<Answer>,
): Promise<Answer> {
  const signIn = requireFreshSignIn(context);
  const identity = context.identityAdministration ?? fail('identity_administration_not_configured');
  const issued = await identity.issue(signIn).catch((error: unknown) => refuseFailure(error));
  if (issued === undefined) return refuseOldSignIn();
  const { id, token, expiresAt } = issued;
  try {
    return await record({ id, token, tenantId: signIn.tenantId, expiresAt });
  } catch (error) {
    await discard(context, identity, signIn.tenantId, id);
    throw error;
  }
}

/** A token that is never returned expires on its own if it can't be revoked. */
async function discard(
  { log }: Context,
  identity: IdentityAdministration,
  iamTenantId: string,
  tokenId: string,
): Promise<void> {
  await identity
    .revoke(iamTenantId, tokenId)
    .catch((error: unknown) => log.warn({ err: error, tokenId }, 'an unused administration token remains'));
}

/** Checked with the time in the access token. Identity checks its own records, too. */
function requireFreshSignIn({ caller }: Context): SignInOfPerson {
  if (caller.kind !== 'human') return fail('not_a_person');
  const { signIn, iamPrincipalId } = caller;
  if (signIn === undefined || iamPrincipalId === null) return refuseOldSignIn();
  if (Date.now() - signIn.atMs >= signInSecondsMax * 1000) return refuseOldSignIn();
  const { iamTenantId: tenantId, credentialId } = signIn;
  return { tenantId, principalId: iamPrincipalId, credentialId };
}

function refuseOldSignIn(): never {
  return fail('fresh_sign_in_required', { maxAgeSeconds: signInSecondsMax });
}

function refuseFailure(error: unknown): never {
  if (!(error instanceof IdentityFailed)) throw error;
  return fail(
    'identity_administration_unavailable',
    {},
    { reason: error.message, cause: error, headers: { 'retry-after': retryAfterSeconds } },
  );
}

/** @throws Refusal `permission_denied` for a caller who is no longer an administrator, `rate_limited` */
export async function recordAdministrationToken(
  context: Context,
  issued: IdentityAdministrationToken,
): Promise<IdentityAdministrationToken> {
  const { db, tenantId, caller, settings } = context;
  const { principalId, credentialId: bindingId = '' } = caller;
  // A demotion either waits for this lock, or is visible once the lock is held; the worker finds later ones.
  const isStored = settings.CP_AUTHZ_MODE !== 'policy';
  const binding = await db.row(lockAdministratorBinding({ tenantId, principalId, bindingId, isStored }));
  if (binding === undefined) fail('permission_denied', { required: ['admin'] });
  await refuseTooMany(context, bindingId);
  const { id: tokenId, tenantId: iamTenantId, expiresAt } = issued;
  await db.run(insertAdministration({ tokenId, iamTenantId, tenantId, principalId, bindingId, expiresAt }));
  emit(context, identityAdministrationGranted, { entityId: principalId }, { tokenId, expiresAt });
  return issued;
}

/**
 * No token's record is deleted to make room: the worker could then no longer revoke that token if the person lost their
 * administrator rights.
 */
async function refuseTooMany({ db, tenantId }: Context, bindingId: string): Promise<void> {
  await db.run(lockAdministrationsOf(bindingId));
  const { live, soonest } = (await db.row(countLiveAdministrations(tenantId, bindingId))) ?? {
    live: 0,
    soonest: 1,
  };
  if (live < liveMax) return;
  const seconds = Math.max(1, soonest);
  fail('rate_limited', { retryAfterSeconds: seconds }, { headers: { 'retry-after': String(seconds) } });
}
