import type { BatonClient } from '@baton/sdk';

/** The permissions of a working agent. */
export const agentPermissions = [
  'sessions.open',
  'tasks.read',
  'tasks.write',
  'tasks.claim',
  'task_types.read',
  'artifacts.read',
  'artifacts.write',
  'approvals.read',
  'approvals.manage',
  'events.read',
] as const;

export interface Participant {
  readonly token: string;
  readonly principalId: string;
  readonly baton: BatonClient;
}

export interface Admission {
  readonly permissions: readonly string[];
  readonly kind: 'agent' | 'human';
  readonly scopes: readonly string[];
}

const audiences = ['control-plane'];
export const allScopes = ['control-plane:read', 'control-plane:write'];

/**
 * Creates a participant in both services, with a token.
 * @param admin a client of the administrator of both; @param clientOf creates a client with a token
 */
export async function admit(
  { admin, tenantId, issuer }: { admin: BatonClient; tenantId: string; issuer: string },
  clientOf: (token: string) => BatonClient,
  { permissions, kind, scopes }: Admission,
): Promise<Participant> {
  const made = await admin.identity.principals.create(tenantId, { kind, displayName: 'a test' });
  // Identity issues a token to a human only soon after a sign-in, so the administrator records one.
  if (kind === 'human')
    await admin.identity.principals.recordAuthenticationContext(tenantId, made.id, { issuer });
  const { token } = await admin.identity.principals.createToken(tenantId, made.id, {
    name: 'test',
    audiences,
    scopeCeiling: [...scopes],
    expiresInSeconds: 3600,
  });
  if (token === null) throw new Error('the response of a new token contains no token');
  const { id: principalId } = await admin.principals.create({ kind, displayName: 'a test' });
  const identity = { issuer, iamTenantId: tenantId, iamPrincipalId: made.id };
  await admin.principals.createIamBinding(principalId, { ...identity, permissions: [...permissions] });
  return { token, principalId, baton: clientOf(token) };
}
