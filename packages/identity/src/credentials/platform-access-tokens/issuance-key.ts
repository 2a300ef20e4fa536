import type { Db } from '@baton/kernel/database/db';
import { idempotencyKeyLengthMax } from '@baton/kernel/http/idempotency';
import { InvalidRequest } from '@baton/kernel/http/refusal';
import { type Reply, reply } from '@baton/kernel/http/service';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { type IssuedToken, platformAccessTokenOf } from './platform-access-token.ts';
import { findByIdempotencyKey } from './platform-access-tokens.sql.ts';

/**
 * The Idempotency-Key of issue and rotate, which is stored with the credential itself (see
 * docs/reference/credentials.md#idempotency-of-issue-and-rotate).
 * @throws Refusal `idempotency_key_required`; InvalidRequest for more than 200 characters
 */
export function requireIssuanceKey({ headers }: Context): string {
  const header = headers['idempotency-key'];
  const key = typeof header === 'string' ? header.trim() : '';
  if (key === '') fail('idempotency_key_required');
  if (key.length > idempotencyKeyLengthMax) {
    const message = `must have at most ${idempotencyKeyLengthMax} characters`;
    throw new InvalidRequest([{ in: 'header', path: ['Idempotency-Key'], type: 'too_big', message }]);
  }
  return key;
}

/**
 * The response to a key that was already used: the current credential, without its secret.
 * @returns undefined for a new key
 * @throws Refusal `idempotency_key_reused` when it was used for another request
 */
export async function replayOf(
  db: Db,
  tenantId: string,
  key: string,
  fingerprint: string,
): Promise<Reply<IssuedToken> | undefined> {
  const stored = await db.row(findByIdempotencyKey(tenantId, key));
  if (stored === undefined) return undefined;
  if (stored.idempotency_fingerprint !== fingerprint) fail('idempotency_key_reused');
  const answer = { credential: platformAccessTokenOf(stored), token: null };
  return reply(201, answer, { 'idempotency-replayed': 'true' });
}
