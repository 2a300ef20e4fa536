import { randomUUID } from 'node:crypto';
import { observer } from '@baton/kernel/process/observer';
import type { SigningAlgorithm } from '../../directory/audiences/audience.ts';
import type { Context } from '../context.ts';

/** A token's subject and its rights (see docs/reference/tokens.md#access-token). Its lists are sorted. */
export interface Grant {
  readonly tenantId: string;
  readonly principalId: string;
  readonly principalKind: string;
  readonly credentialId: string;
  /** The public id of the presented credential: a clientId, a public prefix, or `idp:` and the key of the provider. */
  readonly clientId: string;
  readonly audience: string;
  /** The audience's algorithm. */
  readonly algorithm: SigningAlgorithm;
  readonly scope: readonly string[];
  /** The database's clock, in whole seconds since 1970. */
  readonly nowSeconds: number;
  /** Absent for client credentials. */
  readonly session?: { readonly id: string; readonly scopeCeiling: readonly string[] };
  /** A person's sign-in; absent for other kinds of principals. */
  readonly authTime?: string | null;
  readonly acr?: string | null;
}

/**
 * Signs the access token of a grant, with exactly these claims: consumers check for the exact set. Form and names are
 * those of RFC 9068; scopes contain no blanks (`isScope`), so their text can be split again. Without a key, or with a
 * full queue of signatures, it throws at once, so that nothing is recorded.
 * @throws NoSigningKeyError; Refusal `unavailable`
 */
export function signAccessToken({ settings, signingKeys, counters }: Context, grant: Grant): Promise<string> {
  const started = performance.now();
  const signing = signingKeys.sign(grant.algorithm, {
    iss: settings.issuer,
    sub: grant.principalId,
    tenant_id: grant.tenantId,
    aud: grant.audience,
    scope: grant.scope.join(' '),
    principal_type: grant.principalKind,
    credential_id: grant.credentialId,
    client_id: grant.clientId,
    iat: grant.nowSeconds,
    nbf: grant.nowSeconds,
    exp: grant.nowSeconds + settings.IAM_TOKEN_TTL_SECONDS,
    jti: randomUUID(),
    ...(grant.session && { scope_ceiling: grant.session.scopeCeiling, session_id: grant.session.id }),
    ...(grant.authTime != null && { auth_time: grant.authTime }),
    ...(grant.acr != null && { acr: grant.acr }),
  });
  return signing.then((token) => {
    counters.signed((performance.now() - started) / 1000);
    observer()?.made('access token', token);
    return token;
  });
}
