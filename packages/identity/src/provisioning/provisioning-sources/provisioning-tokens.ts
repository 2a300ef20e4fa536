import { randomBytes, randomUUID } from 'node:crypto';
import { fingerprintOf, idempotencyKeyLengthMax } from '@baton/kernel/http/idempotency';
import { InvalidRequest } from '@baton/kernel/http/refusal';
import { type Reply, reply } from '@baton/kernel/http/service';
import { observer } from '@baton/kernel/process/observer';
import { audit } from '../../records/audit.ts';
import { emit } from '../../records/journal/journal.ts';
import { secretHash } from '../../service/secrets.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { provisioningTokenRevoked } from './provisioning-sources.events.ts';
import { findSource, lockSource } from './provisioning-sources.sql.ts';
import {
  type IssuedProvisioningToken,
  issuedTokenOf,
  type NewProvisioningToken,
  type ProvisioningToken,
  type ProvisioningTokenRow,
  provisioningTokenOf,
} from './provisioning-token.ts';
import {
  countLiveTokens,
  findProvisioningTokens,
  findTokenByKey,
  insertProvisioningToken,
  updateRevoked,
} from './provisioning-tokens.sql.ts';

/** Two, so that a directory can be given a new token before the old one is revoked. */
const liveTokensMax = 2;

/** The public part of a presented provisioning token, or undefined if it isn't one. */
export function parseProvisioningToken(token: string): string | undefined {
  return /^iam_scim_([0-9a-f]{12})_./s.exec(token)?.[1];
}

/**
 * Issues a long-lived token for a source, for directories that can't request access tokens (see
 * docs/reference/scim.md#provisioning-tokens).
 * @throws Refusal `provisioning_source_not_found`, `idempotency_key_reused`, `token_limit_reached`
 */
export async function createProvisioningToken(
  context: Context,
  tenantId: string,
  sourceId: string,
  wanted: NewProvisioningToken,
): Promise<IssuedProvisioningToken | Reply<IssuedProvisioningToken>> {
  const { db } = context;
  const idempotencyKey = idempotencyKeyOf(context);
  const fingerprint = fingerprintOf('POST', 'provisioning-token', wanted, sourceId);
  // The lock serializes the requests of one source, for the limit and for the Idempotency-Key.
  const source = (await db.row(lockSource(tenantId, sourceId))) ?? fail('provisioning_source_not_found');
  const stored = idempotencyKey === null ? undefined : await db.row(findTokenByKey(sourceId, idempotencyKey));
  if (stored !== undefined) {
    if (stored.idempotency_fingerprint !== fingerprint) fail('idempotency_key_reused');
    return reply(201, issuedTokenOf(stored, null), { 'idempotency-replayed': 'true' });
  }
  const live = (await db.row(countLiveTokens(sourceId)))?.count ?? 0;
  if (live >= liveTokensMax) fail('token_limit_reached');
  const publicPrefix = randomBytes(6).toString('hex');
  const token = `iam_scim_${publicPrefix}_${randomBytes(32).toString('base64url')}`;
  observer()?.made('provisioning token', token);
  const created = (await db.row(
    insertProvisioningToken({
      id: randomUUID(),
      tenantId,
      sourceId,
      name: wanted.name,
      publicPrefix,
      secretHash: secretHash(token),
      ttlSeconds: wanted.expiresInSeconds,
      idempotencyKey,
      fingerprint,
    }),
  )) as ProvisioningTokenRow;
  audit(context, {
    tenantId,
    action: 'provisioning_tokens.issue',
    resource: ['provisioning_token', created.id],
    reason: `source:${source.key} prefix:${publicPrefix}`,
  });
  return issuedTokenOf(created, token);
}

/** @throws Refusal `provisioning_source_not_found` */
export async function listProvisioningTokens(
  { db }: Context,
  tenantId: string,
  sourceId: string,
): Promise<ProvisioningToken[]> {
  if ((await db.row(findSource(tenantId, sourceId))) === undefined) fail('provisioning_source_not_found');
  const rows = await db.rows(findProvisioningTokens(sourceId));
  return rows.map(provisioningTokenOf);
}

/** Revokes a token. Revoking it again changes nothing. @throws Refusal `credential_not_found` */
export async function revokeProvisioningToken(
  context: Context,
  tenantId: string,
  sourceId: string,
  tokenId: string,
): Promise<undefined> {
  const { db } = context;
  const source = (await db.row(lockSource(tenantId, sourceId))) ?? fail('credential_not_found');
  const revoked = (await db.row(updateRevoked(sourceId, tokenId))) ?? fail('credential_not_found');
  if (!revoked.is_first) return;
  const publicPrefix = revoked.public_prefix;
  const about = { tenantId, aggregateId: tokenId };
  const payload = { credentialId: tokenId, provisioningSourceId: sourceId, publicPrefix };
  emit(context, provisioningTokenRevoked, about, payload);
  audit(context, {
    tenantId,
    action: 'provisioning_tokens.revoke',
    resource: ['provisioning_token', tokenId],
    reason: `source:${source.key} prefix:${publicPrefix}`,
  });
}

/** The Idempotency-Key, or null. A blank key is refused, because its sender would rely on it. @throws InvalidRequest */
function idempotencyKeyOf({ headers }: Context): string | null {
  const header = headers['idempotency-key'];
  if (typeof header !== 'string') return null;
  const key = header.trim();
  if (key === '' || key.length > idempotencyKeyLengthMax) {
    const message = `must have 1 to ${idempotencyKeyLengthMax} characters`;
    throw new InvalidRequest([{ in: 'header', path: ['Idempotency-Key'], type: 'invalid', message }]);
  }
  return key;
}
