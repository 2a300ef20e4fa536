import { limitFailures } from '../../credentials/failure-limits/failure-limits.ts';
import { lockMember } from '../../directory/principals/principals.ts';
import { audit, auditDraft } from '../../records/audit.ts';
import { recordedTransaction } from '../../records/journal/recorded-transaction.ts';
import { consoleClientId, type StartedSession } from '../browser-sessions/browser-session.ts';
import { startBrowserSession } from '../browser-sessions/browser-sessions.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { type Challenge, makeChallenge, openChallenge, useChallenge } from './challenges.ts';
import type { PasskeyOptions, PasskeySignInRequest } from './passkey.ts';
import { findPresentedPasskey, type PresentedPasskeyRow, updateUsed } from './passkeys.sql.ts';
import { requestOptions, type VerifiedUse, verifyUse } from './relying-party.ts';
import { recordPasskeySignIn } from './sign-in-record.ts';

/** A P-256 key that nobody has, with which an unknown credential takes as long as a known one. */
const nobodysKey =
  'pQECAyYgASFYIKe6DpYyx1bfqQClwnjX_8FKvz-xlWdlBH8j5s8qwNGYIlgg1MD4pnAXXNYfTJURTGiAe0ggbclsjsDZ2BpSafzKDpo';
const nobody = { credential_id: '', public_key: nobodysKey, sign_count: 0, subject: '' };

/** `about` is empty, because the person is known only from the response. */
const signInPurpose = { purpose: 'sign-in', about: '' } as const;

/** The options with which a browser requests a passkey; nothing is stored for them. */
export async function passkeySignInOptions(context: Context): Promise<PasskeyOptions> {
  const { challenge, state } = makeChallenge(context, { ...signInPurpose, userHandle: '' });
  return { publicKey: await requestOptions(context.settings, challenge), state };
}

/** Why a response is not accepted: the caller gets one code, and the audit record contains the reason. */
class PasskeyDenied extends Error {
  readonly reason: string;

  constructor(reason: string) {
    super(reason);
    this.reason = reason;
  }
}

/**
 * Signs a person in with a passkey, records the sign-in and begins a browser session (see
 * docs/reference/passkeys.md#sign-in). Every refusal has the same response, and takes as long.
 * @throws Refusal `invalid_passkey`, `rate_limited`
 */
export function signInByPasskey(context: Context, request: PasskeySignInRequest): Promise<StartedSession> {
  const { id } = request.credential;
  return limitFailures(context, `passkey:${id}`, () => signIn(context, request));
}

async function signIn(
  context: Context,
  { state, credential }: PasskeySignInRequest,
): Promise<StartedSession> {
  const challenge = openChallenge(context, state, signInPurpose);
  const row = await context.db.row(findPresentedPasskey(credential.id));
  const expected = challenge?.challenge ?? 'none';
  const use = await verifyUse(context.settings, expected, credential, row ?? nobody);
  if (row === undefined) return refuse(context, undefined, 'unknown_credential');
  if (challenge === undefined) return refuse(context, row, 'unknown_or_expired_challenge');
  if (typeof use === 'string') return refuse(context, row, use);
  if (credential.response.userHandle !== row.subject) return refuse(context, row, 'another_user_handle');
  if (row.refusal !== null) return refuse(context, row, row.refusal);
  try {
    const started = await recordedTransaction(context, (inside) => enter(inside, row, challenge, use));
    context.counters.presented('passkey', 'signed_in');
    return started;
  } catch (error) {
    if (error instanceof PasskeyDenied) return refuse(context, row, error.reason);
    throw error;
  }
}

/** Stores a verified sign-in. What may have changed since the passkey was read is checked again under the locks. */
async function enter(
  context: Context,
  passkey: PresentedPasskeyRow,
  challenge: Challenge,
  use: VerifiedUse,
): Promise<StartedSession> {
  const { db, settings } = context;
  const { id: passkeyId, tenant_id: tenantId, principal_id: principalId } = passkey;
  const person = await lockMember(db, tenantId, principalId);
  if (person?.status !== 'active') throw new PasskeyDenied('principal_not_active');
  if (!(await useChallenge(db, challenge, settings))) throw new PasskeyDenied('replayed_challenge');
  const used = await db.row(updateUsed({ passkeyId, ...use }));
  if (used === undefined) throw new PasskeyDenied('counter_not_increased');
  const signedIn = await recordPasskeySignIn(context, {
    tenantId,
    principalId,
    externalIdentityId: passkey.external_identity_id,
    ...use,
  });
  audit(context, {
    tenantId,
    action: 'passkeys.sign_in',
    resource: ['passkey', passkeyId],
    reason: `amr:${signedIn.amr.join(',')}`,
    actor: principalId,
  });
  const started = await startBrowserSession(context, {
    ...signedIn.start,
    tenantId,
    principalId,
    passkeyId,
    clientId: consoleClientId,
  });
  return { ...started, displayName: person.display_name };
}

function refuse(context: Context, row: PresentedPasskeyRow | undefined, reason: string): never {
  context.counters.presented('passkey', row === undefined ? 'unknown' : 'refused');
  if (row !== undefined) {
    // Not awaited: the response must not take longer than the one to an unknown credential.
    context.ledger
      .record({
        audit: auditDraft(context, {
          tenantId: row.tenant_id,
          action: 'passkeys.sign_in',
          resource: ['passkey', row.id],
          outcome: 'denied',
          reason,
          actor: row.principal_id,
        }),
      })
      .catch((error: unknown) => context.log.error({ err: error }, 'a refused passkey was not audited'));
  }
  return fail('invalid_passkey', {}, { reason });
}
