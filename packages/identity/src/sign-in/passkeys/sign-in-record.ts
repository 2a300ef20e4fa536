import { randomUUID } from 'node:crypto';
import type { Context } from '../context.ts';
import { insertPasskeyContext, type SignInRow, updateIdentityUsed } from './passkeys.sql.ts';

interface SignedIn {
  readonly amr: readonly string[];
  readonly start: {
    readonly externalIdentityId: string;
    readonly authenticationContextId: string;
    readonly acr: string;
    readonly authTime: string;
  };
}

/** Records the sign-in of a person whose passkey was verified, with its methods (RFC 8176). */
export async function recordPasskeySignIn(
  { db, settings }: Context,
  signIn: {
    tenantId: string;
    principalId: string;
    externalIdentityId: string;
    isSynced: boolean;
    isUserVerified: boolean;
  },
): Promise<SignedIn> {
  const { tenantId, principalId, externalIdentityId, isSynced, isUserVerified } = signIn;
  const amr = [isSynced ? 'swk' : 'hwk', ...(isUserVerified ? ['mfa'] : []), 'user'].sort();
  // Phishing-resistant, and bound to hardware (OpenID Connect EAP ACR values).
  const acr = isSynced ? 'phr' : 'phrh';
  await db.run(updateIdentityUsed(externalIdentityId, acr));
  const { issuer } = settings.relyingParty;
  const made = { id: randomUUID(), tenantId, principalId, externalIdentityId, issuer, acr, amr };
  const { id, auth_time: authTime } = (await db.row(insertPasskeyContext(made))) as SignInRow;
  return { amr, start: { externalIdentityId, authenticationContextId: id, acr, authTime } };
}
