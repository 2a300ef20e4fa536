import type { identity } from '@baton/sdk';
import { findId } from '../names.ts';
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
      "Only the operator of Baton can run this: it needs identity's admin secret, which is in the connection file of its machine (BATON_HOME). Administrators find the same in the console, under Administration.",
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

/** The id of a principal in identity, from its id or its name. @throws PlainError if none or several match */
export function findIdentityPrincipalId(called: Called, text: string): Promise<string> {
  return findId('principal', text, namesOfPeople(called, text));
}

async function* namesOfPeople(called: Called, q: string) {
  for await (const { id, kind, status, display_name: name } of peopleOf(called, q))
    yield { id, names: [name], about: `${kind}, ${status}` };
}
