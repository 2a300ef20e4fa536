import type { JoinedPerson } from '@baton/sdk/people';
import type { Administration } from '../administration/admin-secret.ts';
import { baton } from '../client.ts';

/**
 * Disables somebody in both services: here their work is released; in identity their tokens and sessions end. Without
 * access to identity's administration, only here; the principal of a registered agent only in identity.
 */
export async function disablePerson(
  { principalId, iamPrincipalId, agent }: JoinedPerson,
  administration: Administration | undefined,
  reason: string,
): Promise<void> {
  const why = reason === '' ? {} : { reason };
  if (principalId !== null && (agent === null || administration === undefined))
    await baton.principals.disable(principalId, why);
  if (administration !== undefined && iamPrincipalId !== null)
    await administration.identity.principals.disable(administration.tenantId, iamPrincipalId, why);
}

/** Enables somebody in both services. Disabling revoked the binding, so the identity is bound again, with this role. */
export async function enablePerson(
  { principalId, iamPrincipalId, agent }: JoinedPerson,
  administration: Administration | undefined,
  accessRole: string,
): Promise<void> {
  if (administration !== undefined && iamPrincipalId !== null)
    await administration.identity.principals.enable(administration.tenantId, iamPrincipalId);
  if (principalId === null || agent !== null) return;
  await baton.principals.enable(principalId);
  const { bindings } = await baton.principals.getAccess(principalId);
  if (bindings.length > 0) return;
  const [former] = (await baton.principals.listIamBindings(principalId)).items;
  if (former === undefined) return;
  const { issuer, iamTenantId, iamPrincipalId: identityId } = former;
  await baton.principals.createIamBinding(principalId, {
    issuer,
    iamTenantId,
    iamPrincipalId: identityId,
    accessRole,
  });
}
