import type { identity } from '@baton/sdk';
import { PlainError } from '../plain-error.ts';
import type { Called } from './resource.ts';

/** What identity's administration needs, which only the owner of a Baton on this machine has. */
export function tenantOf({ access, options }: Called): string {
  const tenant = (options['tenant'] as string | undefined) ?? access.tenantId;
  if (tenant === undefined || access.adminSecret === undefined)
    throw new PlainError(
      'This is for whoever runs Baton: run it on its machine, where its connection file is (BATON_HOME).',
    );
  return tenant;
}

/** Identity's pages have their own form of cursor. */
export async function* peopleOf(called: Called, q?: string): AsyncGenerator<identity.Principal> {
  const tenant = tenantOf(called);
  for (let after: string | null | undefined; after !== null; ) {
    const page = await called.baton.identity.principals.list(tenant, {
      ...(after !== undefined && { after }),
      ...(q !== undefined && { q }),
    });
    yield* page.items;
    after = page.next_after;
  }
}
