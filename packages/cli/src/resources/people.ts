import type { identity } from '@baton/sdk';
import { PlainError } from '../plain-error.ts';
import type { Called } from './resource.ts';

/**
 * Resolves the tenant of a command on identity, which requires identity's admin secret: only the owner of a Baton on
 * this machine has it.
 */
export function resolveTenant({ access, options }: Called): string {
  const tenant = (options['tenant'] as string | undefined) ?? access.tenantId;
  if (tenant === undefined || access.adminSecret === undefined)
    throw new PlainError(
      'Only the operator of Baton can run this, on the machine with its connection file (BATON_HOME).',
    );
  return tenant;
}

/** Reads identity's list page by page; its cursors differ from those of coordination. */
export async function* peopleOf(called: Called, q?: string): AsyncGenerator<identity.Principal> {
  const tenant = resolveTenant(called);
  for (let after: string | null | undefined; after !== null; ) {
    const page = await called.baton.identity.principals.list(tenant, {
      ...(after !== undefined && { after }),
      ...(q !== undefined && { q }),
    });
    yield* page.items;
    after = page.next_after;
  }
}
