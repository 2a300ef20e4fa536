import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { ConcurrencyLimit, Turns } from '@baton/kernel/limits/concurrency-limit';
import { type JsonAnswer, RequestFailed, requestJson } from '@baton/kernel/outbound/json-request';
import { observer } from '@baton/kernel/process/observer';
import { Uuid } from '@baton/values/wire';
import { requireAddress } from '../access-tokens/service-tokens/own-account.ts';
import type { Settings } from '../settings.ts';

/** The person and the sign-in for which a token is requested, with their ids in identity. */
export interface SignInOfPerson {
  readonly tenantId: string;
  readonly principalId: string;
  readonly credentialId: string;
}

export interface IssuedToken {
  readonly id: string;
  readonly token: string;
  readonly expiresAt: string;
}

/** Identity rejected a request, or did not respond. The message contains no credential. */
export class IdentityFailed extends Error {
  override readonly name = 'IdentityFailed';
}

/** Identity's endpoints for the service credential of this installation. */
export interface IdentityAdministration {
  /**
   * @returns undefined if, according to identity's records, the person hasn't signed in recently enough
   * @throws IdentityFailed; Refusal `unavailable` when too many requests wait
   */
  issue(signIn: SignInOfPerson): Promise<IssuedToken | undefined>;
  /**
   * Revokes a token; a token that identity does not have counts as revoked.
   * @throws IdentityFailed
   */
  revoke(tenantId: string, tokenId: string): Promise<void>;
}

type ClientSettings = Pick<
  Settings,
  'CP_IAM_BASE_URL' | 'CP_IAM_REQUEST_TIMEOUT_SECONDS' | 'CP_IDENTITY_ADMIN_CREDENTIAL_FILE'
>;

const setting = 'CP_IDENTITY_ADMIN_CREDENTIAL_FILE';
const answerBytesMax = 16 * 1024;
const credentialForm = /^[\x21-\x7e]{32,512}$/;
/** Low limits suffice: a person needs one token every five minutes. */
const ofTenant = new ConcurrencyLimit('administration tokens of the tenant', {
  runningMax: 2,
  queuedMax: 20,
  waitMsMax: 3000,
});
const ofAll = new ConcurrencyLimit('administration tokens', {
  runningMax: 8,
  queuedMax: 100,
  waitMsMax: 3000,
});

const Issued = z.object({
  id: Uuid,
  token: z
    .string()
    .max(500)
    .regex(/^iam_adm_[\x21-\x7e]+$/),
  expiresAt: z.iso.datetime({ offset: true }),
});

/**
 * @returns undefined if the setting is absent
 * @throws Error with one sentence for an address or a file that can't be used
 */
export function openIdentityAdministration(settings: ClientSettings): IdentityAdministration | undefined {
  const file = settings[setting];
  if (file === '') return undefined;
  requireAddress('CP_IAM_BASE_URL', settings.CP_IAM_BASE_URL);
  credentialIn(readOnce(file));
  const base = `${settings.CP_IAM_BASE_URL.replace(/\/+$/, '')}/api/v1/tenants`;
  const timeoutMs = settings.CP_IAM_REQUEST_TIMEOUT_SECONDS * 1000;

  async function send(tenantId: string, path: string, body?: object): Promise<JsonAnswer> {
    // Read each time, so that a rotated credential needs no restart.
    const credential = credentialIn(await readFile(file, 'utf8'));
    return requestJson(`${base}/${tenantId}/administration-tokens${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${credential}` },
      ...(body !== undefined && { body }),
      timeoutMs,
      answerBytesMax,
    });
  }

  return {
    async issue({ tenantId, ...signIn }) {
      const turns = new Turns([ofTenant, tenantId], [ofAll, '']);
      await turns.enter();
      try {
        return issuedIn(await failing(() => send(tenantId, '', signIn)));
      } finally {
        turns.leave();
      }
    },
    async revoke(tenantId, tokenId) {
      const { status } = await failing(() => send(tenantId, `/${tokenId}:revoke`));
      if (status !== 204 && status !== 404)
        throw new IdentityFailed(`identity returned ${status} to a revocation`);
    },
  };
}

async function failing(work: () => Promise<JsonAnswer>): Promise<JsonAnswer> {
  try {
    return await work();
  } catch (cause) {
    const reason = cause instanceof RequestFailed ? cause.message : `${setting} cannot be used`;
    throw new IdentityFailed(reason, { cause });
  }
}

function issuedIn({ status, json }: JsonAnswer): IssuedToken | undefined {
  const { detail } = (json ?? {}) as { detail?: unknown };
  if (status === 403 && detail === 'fresh_sign_in_required') return undefined;
  const issued = Issued.safeParse(json);
  if (status !== 201 || !issued.success)
    throw new IdentityFailed(`identity returned ${status} to the request for an administration token`);
  observer()?.made('administration token', issued.data.token);
  return issued.data;
}

function readOnce(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new Error(`${setting} refers to a file that cannot be read.`, { cause });
  }
}

function credentialIn(text: string): string {
  const credential = text.trim();
  if (credentialForm.test(credential)) return credential;
  throw new Error(`${setting} must contain one credential of 32 to 512 characters without blanks.`);
}
