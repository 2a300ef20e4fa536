import type { BatonClient } from '@baton/sdk';
import type { IdentityAdministration } from '@baton/sdk/people';
import type { Access } from '../access.ts';
import { PlainError } from '../plain-error.ts';

/** Identity's administration, if the account of the command may use it. Every command gets it here. */
export function findAdministration(
  { identity }: BatonClient,
  { adminSecret, tenantId, issuer }: Access,
): IdentityAdministration | undefined {
  return adminSecret === undefined || tenantId === undefined || issuer === undefined
    ? undefined
    : { identity, tenantId, issuer };
}

/** @throws PlainError if the account of the command may not administer identity */
export function requireAdministration(baton: BatonClient, access: Access): IdentityAdministration {
  const found = findAdministration(baton, access);
  if (found !== undefined) return found;
  throw new PlainError(
    `Invitations need access to identity's administration, which this connection doesn't have (${access.source}). Run this on the machine with the connection file of Baton (BATON_HOME), or invite from the page People and agents of the console.`,
  );
}
