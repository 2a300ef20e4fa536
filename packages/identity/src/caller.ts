import { createHash, timingSafeEqual } from 'node:crypto';
import type { RequestHead } from '@baton/kernel/http';
import type { Operation } from '@baton/kernel/service';
import type { ScimSource } from './scim/scim-access.ts';
import type { NamedSecret } from './admin-secrets.ts';
import { fail } from './service.ts';

/** Who asks, as the audit record names them. */
export interface Caller {
  readonly actor: string;
  /** The source that a SCIM client writes for. */
  readonly scim?: ScimSource;
}

/** The credential, if any, is in the body: the handler finds out who asks. */
const bearerOfBody: Caller = { actor: 'anonymous' };

/**
 * Makes the check that stands before every endpoint (contract, section 2). Both sides are hashed first, so neither the
 * content nor the length of the secret shows in the time it takes.
 * @param secret the admin secret; empty closes every admin endpoint
 * @param named further ones, whose holders are told apart
 */
export function createAdmission(secret: string, named: readonly NamedSecret[]) {
  const admins = [
    { caller: { actor: 'bootstrap' }, expected: digest(Buffer.from(secret)) },
    ...named.map((one) => ({
      caller: { actor: `bootstrap:${one.name}` },
      expected: digest(Buffer.from(one.secret)),
    })),
  ];
  /** @throws Refusal `unauthorized` */
  return ({ headers }: RequestHead, endpoint: Operation): Caller => {
    if (endpoint.auth !== undefined) return bearerOfBody;
    const given = headers['x-iam-bootstrap-token'];
    // Headers arrive as latin1: these are the very bytes that were sent.
    const presented = digest(Buffer.from(typeof given === 'string' ? given : '', 'latin1'));
    // All are compared, so that the time does not tell which one it was.
    const [found] = admins.filter(({ expected }) => timingSafeEqual(presented, expected));
    return secret === '' || found === undefined ? fail('unauthorized') : found.caller;
  };
}

function digest(bytes: Buffer): Buffer {
  return createHash('sha256').update(bytes).digest();
}
