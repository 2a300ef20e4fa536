import { createHash, timingSafeEqual } from 'node:crypto';
import type { RequestHead } from '@baton/kernel/http';
import type { Operation } from '@baton/kernel/service';
import { fail } from './service.ts';

/** Who asks, as the audit record names them. */
export interface Caller {
  readonly actor: string;
}

const admin: Caller = { actor: 'bootstrap' };
/** The credential, if any, is in the body: the handler finds out who asks. */
const bearerOfBody: Caller = { actor: 'anonymous' };

/**
 * Makes the check that stands before every endpoint (contract, section 2). Both sides are hashed first, so neither the
 * content nor the length of the secret shows in the time it takes.
 * @param secret the admin secret; empty closes every admin endpoint
 */
export function createAdmission(secret: string) {
  const expected = digest(Buffer.from(secret));
  /** @throws Refusal `unauthorized` */
  return ({ headers }: RequestHead, endpoint: Operation): Caller => {
    if (endpoint.auth !== undefined) return bearerOfBody;
    const given = headers['x-iam-bootstrap-token'];
    // Headers arrive as latin1: these are the very bytes that were sent.
    const presented = digest(Buffer.from(typeof given === 'string' ? given : '', 'latin1'));
    if (!timingSafeEqual(presented, expected) || secret === '') fail('unauthorized');
    return admin;
  };
}

function digest(bytes: Buffer): Buffer {
  return createHash('sha256').update(bytes).digest();
}
