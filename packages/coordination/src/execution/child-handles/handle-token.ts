import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { observer } from '@baton/kernel/process/observer';
import { fail } from '../errors.ts';

/**
 * A token of a child handle: `ch1_<32 hex of the id>_<secret>`, where the secret is 256 random bits in base64url. It
 * identifies its handle and grants no rights. Only the SHA-256 of the secret is stored.
 */
export interface HandleToken {
  /** Shown once, in the response to the launch. */
  readonly token: string;
  readonly secretHash: string;
}

const tokenForm = /^ch1_([0-9a-f]{32})_([A-Za-z0-9_-]{43})$/;
const idForm = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export function newHandleToken(handleId: string): HandleToken {
  const secret = randomBytes(32).toString('base64url');
  const token = `ch1_${handleId.replaceAll('-', '')}_${secret}`;
  observer()?.made('token of a child handle', token);
  return { token, secretHash: hashOf(secret) };
}

/** A handle as given in a path: by its id or by its token. */
export interface HandleRef {
  readonly id: string;
  /** The secret of the token; undefined if only the id was given. */
  readonly secret: string | undefined;
}

/** @throws Refusal `invalid_child_handle_token`, `invalid_child_handle_ref` */
export function parseHandleRef(text: string): HandleRef {
  if (idForm.test(text.toLowerCase())) return { id: text.toLowerCase(), secret: undefined };
  if (!text.startsWith('ch1_')) return fail('invalid_child_handle_ref');
  const [, hex, secret] = tokenForm.exec(text) ?? [];
  if (hex === undefined) return fail('invalid_child_handle_token');
  return { id: hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5'), secret };
}

/** Compares in constant time. */
export function isSecretOf(secret: string, secretHash: string): boolean {
  return timingSafeEqual(Buffer.from(hashOf(secret), 'hex'), Buffer.from(secretHash, 'hex'));
}

function hashOf(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}
