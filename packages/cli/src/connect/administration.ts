import type { BatonClient } from '@baton/sdk';
import type { ConnectServices } from '@baton/sdk/connect';
import type { Access } from '../access.ts';
import { PlainError } from '../plain-error.ts';

/**
 * Identity's administration, with the rights of the account of this command.
 * @throws PlainError without the admin secret, which only the operator has
 */
export function administrationOf(
  { adminSecret, tenantId, issuer }: Access,
  { identity }: BatonClient,
): ConnectServices['administration'] {
  if (adminSecret === undefined || tenantId === undefined || issuer === undefined)
    throw new PlainError(
      'Only the operator of Baton can run this, on the machine with its connection file (BATON_HOME). Administrators can connect an agent on the page Agents and sessions of the console.',
    );
  return { identity, tenantId, issuer };
}
