import type { Principal } from '@baton/sdk';
import { peopleOf } from './people.ts';
import type { Called, Item } from './resource.ts';

/**
 * Marks active principals whose identities are all disabled at identity: coordination doesn't store that, and refuses them all the
 * same. Only whoever runs Baton can read it there.
 */
export async function* withIdentityStatus(
  called: Called,
  principals: AsyncIterable<Principal>,
): AsyncGenerator<Principal & { readonly identityStatus?: 'disabled' }> {
  const isReadable = called.access.adminSecret !== undefined && called.access.tenantId !== undefined;
  // Identity may be away, or refuse the secret from another machine: the list of coordination is shown all the same.
  const disabled = isReadable
    ? await findDisabledPeople(called).catch(() => new Set<string>())
    : new Set<string>();
  for await (const principal of principals) {
    const isDisabled =
      disabled.size > 0 && principal.status === 'active' && (await isBoundTo(called, principal.id, disabled));
    yield isDisabled ? { ...principal, identityStatus: 'disabled' } : principal;
  }
}

/** The status of a principal as people read it. */
export function statusText({ status, identityStatus }: Item): unknown {
  return identityStatus === undefined ? status : `${String(identityStatus)} at identity`;
}

async function findDisabledPeople(called: Called): Promise<Set<string>> {
  const disabled = new Set<string>();
  for await (const { id, status } of peopleOf(called)) if (status !== 'active') disabled.add(id);
  return disabled;
}

/** Whether every identity that can still act as the principal is one of these. */
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
