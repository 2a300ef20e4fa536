import { createHash, timingSafeEqual } from 'node:crypto';
import type { RequestHead } from '@baton/kernel/http/http-message';
import type { Operation } from '@baton/kernel/http/service';
import { fail } from '../provisioning/errors.ts';
import type { Caller } from '../service/caller.ts';
import type { NamedSecret } from './admin-secrets.ts';
import type { Tools } from './context.ts';

/** The caller of an endpoint without the admin header; the endpoint's handler finds the credential in the body. */
const anonymous: Caller = { actor: 'anonymous' };

/** The named admin secrets in use; a reload replaces the list. */
export interface AdminSecrets {
  named: readonly NamedSecret[];
}

/**
 * Creates the check of the admin header, for every endpoint that has no other `auth`. IAM_BOOTSTRAP_TOKEN is the shared
 * secret; if it is empty, every admin endpoint is closed. Named secrets identify their holders. Both sides are hashed
 * before they are compared, so the timing reveals neither content nor length.
 */
export function createAdmission(
  { settings, failureLimits, counters }: Pick<Tools, 'settings' | 'failureLimits' | 'counters'>,
  secrets: AdminSecrets,
) {
  const sharedSecret = settings.IAM_BOOTSTRAP_TOKEN;
  const shared = { caller: { actor: 'bootstrap' }, expected: digest(Buffer.from(sharedSecret)) };
  let known: readonly NamedSecret[] | undefined;
  let admins = [shared];
  /**
   * @throws Refusal `unauthorized`; `rate_limited` instead if secrets from the address failed too often
   */
  return ({ headers, address }: RequestHead, endpoint: Operation): Caller => {
    if (endpoint.auth !== undefined) return anonymous;
    if (known !== secrets.named) {
      known = secrets.named;
      admins = [shared, ...known.map(adminOf)];
    }
    const given = headers['x-iam-bootstrap-token'];
    // Node decodes headers as latin1; encoding the string the same way restores the bytes that were sent.
    const presented = digest(Buffer.from(typeof given === 'string' ? given : '', 'latin1'));
    // The secret is compared with every known one, so that the timing does not reveal which of them matched.
    const [found] = admins.filter(({ expected }) => timingSafeEqual(presented, expected));
    if (sharedSecret !== '' && found !== undefined) return found.caller;
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
