import type { Caller } from '../service/caller.ts';
import { createHash, timingSafeEqual } from 'node:crypto';
import type { RequestHead } from '@baton/kernel/http';
import type { Operation } from '@baton/kernel/service';
import type { Context } from './context.ts';
import type { NamedSecret } from './admin-secrets.ts';
import { fail } from '../provisioning/errors.ts';

/** The credential, if any, is in the body: the handler finds out who asks. */
const bearerOfBody: Caller = { actor: 'anonymous' };

/** The named admin secrets in use; a reload brings others. */
export interface AdminSecrets {
  named: readonly NamedSecret[];
}

/**
 * Makes the check that stands before every endpoint (contract, section 2). Both sides are hashed first, so neither the
 * content nor the length of the secret shows in the time it takes.
 * @param secret the admin secret; empty closes every admin endpoint
 * @param secrets further ones, whose holders are told apart
 */
export function createAdmission(
  secret: string,
  secrets: AdminSecrets,
  { failureLimits, counters }: Pick<Context, 'failureLimits' | 'counters'>,
) {
  const shared = { caller: { actor: 'bootstrap' }, expected: digest(Buffer.from(secret)) };
  let known: readonly NamedSecret[] | undefined;
  let admins = [shared];
  /** @throws Refusal `unauthorized`; `rate_limited` instead when secrets from the address failed too often */
  return ({ headers, address }: RequestHead, endpoint: Operation): Caller => {
    if (endpoint.auth !== undefined) return bearerOfBody;
    if (known !== secrets.named) {
      known = secrets.named;
      admins = [shared, ...known.map(adminOf)];
    }
    const given = headers['x-iam-bootstrap-token'];
    // Headers arrive as latin1: these are the very bytes that were sent.
    const presented = digest(Buffer.from(typeof given === 'string' ? given : '', 'latin1'));
    // All are compared, so that the time does not tell which one it was.
    const [found] = admins.filter(({ expected }) => timingSafeEqual(presented, expected));
    if (secret !== '' && found !== undefined) return found.caller;
    if (given === undefined || given === '') return fail('unauthorized');
    counters.presented('admin', 'unknown');
    failureLimits.countAdmin(address);
    return fail('unauthorized', {}, { reason: 'wrong admin secret' });
  };
}

function adminOf({ name, secret }: NamedSecret) {
  return { caller: { actor: `bootstrap:${name}` }, expected: digest(Buffer.from(secret)) };
}

function digest(bytes: Buffer): Buffer {
  return createHash('sha256').update(bytes).digest();
}
