import { createHash, timingSafeEqual } from 'node:crypto';
import type { RequestHead } from '@baton/kernel/http/http-message';
import type { Operation } from '@baton/kernel/http/service';
import { fail } from '../provisioning/errors.ts';
import type { Caller } from '../service/caller.ts';
import { isSecretOf } from '../service/secrets.ts';
import { createAdministratorCheck } from '../sign-in/administration-tokens/administrator.ts';
import type { NamedSecret } from './admin-secrets.ts';
import { isOpenToAdministrators, isPathOf } from './administration-scope.ts';
import type { Tools } from './context.ts';

/** The caller of an endpoint without the admin header; the endpoint's handler finds the credential in the body. */
const anonymous: Caller = { actor: 'anonymous' };
/** The service that requests administration tokens. */
const coordination: Caller = { actor: 'service:coordination' };

/** The secrets of administrators in use; a reload replaces them. */
export interface AdminSecrets {
  named: readonly NamedSecret[];
  /** The hashes of the service credentials of coordination. */
  delegation: readonly string[];
}

/**
 * Creates the authentication of administrators, with the admin header or a person's administration token, and of
 * coordination, with its service credential.
 */
export function createAdmission(basePath: string, tools: Tools, secrets: AdminSecrets) {
  const byHeader = createAdminHeaderCheck(tools, secrets);
  const administratorOf = createAdministratorCheck(tools);
  /** @throws Refusal `unauthorized`, `outside_administration`, `rate_limited`, `unavailable` */
  return async (head: RequestHead, endpoint: Operation): Promise<Caller> => {
    if (endpoint.auth === 'delegation') return admitService(tools, head, secrets.delegation);
    if (endpoint.auth !== undefined) return anonymous;
    const token = bearerOf(head);
    // If both are sent, only the admin header counts: another credential never makes up for a wrong secret.
    if (head.headers['x-iam-bootstrap-token'] !== undefined || !token?.startsWith('iam_adm_'))
      return byHeader(head);
    const { tenantId, principalId } = await administratorOf(token, head);
    if (isOpenToAdministrators(endpoint) && isPathOf(head.path, basePath, tenantId))
      return { actor: principalId, isAdministrator: true };
    return fail('outside_administration', {}, { reason: `administrator ${principalId}` });
  };
}

function bearerOf({ headers }: RequestHead): string | undefined {
  return /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1];
}

/**
 * @throws Refusal `unauthorized`, or `rate_limited` when credentials from the address failed too often
 */
function admitService(
  { failureLimits, counters }: Pick<Tools, 'failureLimits' | 'counters'>,
  head: RequestHead,
  hashes: readonly string[],
): Caller {
  const presented = bearerOf(head);
  if (presented === undefined) return fail('unauthorized');
  // Compares with every hash, so that the timing does not reveal which one matched.
  const matches = hashes.filter((hash) => isSecretOf(presented, hash));
  if (matches.length > 0) return coordination;
  counters.presented('delegation', 'unknown');
  failureLimits.countDelegation(head.address);
  return fail('unauthorized', {}, { reason: 'wrong service credential' });
}

/**
 * IAM_BOOTSTRAP_TOKEN is the shared secret; if it is empty, the admin header is accepted nowhere. Named secrets
 * identify their holders. Both sides are hashed before they are compared, so the timing reveals neither content nor
 * length.
 */
function createAdminHeaderCheck(
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
  return ({ headers, address }: RequestHead): Caller => {
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
