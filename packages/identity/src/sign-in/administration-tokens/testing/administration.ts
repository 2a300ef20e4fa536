import { type Answer, delegationHeader, type TestIdentity } from '../../../testing/identity.ts';
import { made } from '../../../testing/objects.ts';
import type { Person } from '../../passkeys/testing/people.ts';

/** Administration tokens, made as coordination makes them. */

export const pathOf = (tenantId: string) => `/api/v1/tenants/${tenantId}/administration-tokens`;

export const signInOf = ({
  tenantId,
  principalId,
  session,
}: Pick<Person, 'tenantId' | 'principalId' | 'session'>) => ({
  tenantId,
  principalId,
  credentialId: session.id as string,
});

export const bodyOf = (person: Parameters<typeof signInOf>[0]) => {
  const { tenantId: _, ...body } = signInOf(person);
  return body;
};

export const requestToken = (
  identity: TestIdentity,
  { tenantId, ...body }: { tenantId: string; [field: string]: unknown },
): Promise<Answer> => identity.request('POST', pathOf(tenantId), { body, headers: delegationHeader });

export const issueToken = (
  identity: TestIdentity,
  person: Parameters<typeof signInOf>[0],
): Promise<{ id: string; token: string }> => made(requestToken(identity, signInOf(person)));

export const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
