import type { Principal } from '@baton/sdk';
import { peopleOf } from './people.ts';
import type { Called, Item } from './resource.ts';

/**
 * Marks active principals whose identities are all disabled in the identity service. Coordination doesn't store that
 * status, but rejects these principals; only Baton's operator can read the status in identity.
 */
export async function* withIdentityStatus(
  called: Called,
  principals: AsyncIterable<Principal>,
): AsyncGenerator<Principal & { readonly identityStatus?: 'disabled' }> {
  const isReadable = called.access.adminSecret !== undefined && called.access.tenantId !== undefined;
  // Identity may be unavailable, or reject the secret from another machine: coordination's list is still shown.
  const disabled = isReadable
    ? await findDisabledPeople(called).catch(() => new Set<string>())
    : new Set<string>();
  for await (const principal of principals) {
    const isDisabled =
      disabled.size > 0 && principal.status === 'active' && (await isBoundTo(called, principal.id, disabled));
    yield isDisabled ? { ...principal, identityStatus: 'disabled' } : principal;
  }
}

/** The status of a principal for people. */
export function statusText({ status, identityStatus }: Item): unknown {
  return identityStatus === undefined ? status : `${String(identityStatus)} at identity`;
}

async function findDisabledPeople(called: Called): Promise<Set<string>> {
  const disabled = new Set<string>();
  for await (const { id, status } of peopleOf(called)) if (status !== 'active') disabled.add(id);
  return disabled;
}

/** Whether all enabled identities of the principal are among these. */
async function isBoundTo(
  { baton }: Called,
  principalId: string,
  disabled: ReadonlySet<string>,
): Promise<boolean> {
  let isBound = false;
  for await (const { status, iamPrincipalId } of baton.principals.listIamBindings(principalId)) {
    if (status !== 'active') continue;
    if (!disabled.has(iamPrincipalId)) return false;
    isBound = true;
  }
  return isBound;
}
