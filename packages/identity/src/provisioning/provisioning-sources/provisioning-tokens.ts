import { randomBytes, randomUUID } from 'node:crypto';
import { fingerprintOf, idempotencyKeyLengthMax } from '@baton/kernel/idempotency';
import { observer } from '@baton/kernel/observer';
import { InvalidRequest } from '@baton/kernel/refusal';
import { type Reply, reply } from '@baton/kernel/service';
import { audit } from '../../records/audit.ts';
import type { Context } from '../context.ts';
import { emit } from '../../records/journal/journal.ts';
import { secretHash } from '../../service/secrets.ts';
import { fail } from '../errors.ts';
import { provisioningTokenRevoked } from './provisioning-sources.events.ts';
import { findSource, lockSource } from './provisioning-sources.sql.ts';
import type { ProvisioningToken, TokenIssuance, TokenRequest } from './provisioning-tokens.api.ts';
import {
  countLiveTokens,
  findProvisioningTokens,
  findTokenByKey,
  insertProvisioningToken,
  type ProvisioningTokenRow,
  revokeProvisioningToken,
} from './provisioning-tokens.sql.ts';

/** Two, so that a directory can be given the new one before the old one ends. */
const liveTokensMax = 2;

/** The public part of a presented provisioning token, or undefined when it isn't of that form. */
export function parseProvisioningToken(token: string): string | undefined {
  return /^iam_scim_([0-9a-f]{12})_./s.exec(token)?.[1];
}

/**
 * Issues a long-lived token of a source, for directories that can hold only that (contract, section 21).
 * @throws Refusal `provisioning_source_not_found`, `idempotency_key_reused`, `token_limit_reached`
 */
export async function issueProvisioningToken(
  context: Context,
  tenantId: string,
  sourceId: string,
  wanted: TokenRequest,
): Promise<TokenIssuance | Reply<TokenIssuance>> {
  const { db } = context;
  const idempotencyKey = readKey(context);
  const fingerprint = fingerprintOf('POST', 'provisioning-token', wanted, sourceId);
  // The lock makes rivals of one source wait for each other: for the limit, and for the key.
  const source = (await db.row(lockSource(tenantId, sourceId))) ?? fail('provisioning_source_not_found');
  const stored = idempotencyKey === null ? undefined : await db.row(findTokenByKey(sourceId, idempotencyKey));
  if (stored !== undefined) {
    if (stored.idempotency_fingerprint !== fingerprint) fail('idempotency_key_reused');
    return reply(201, { ...issuanceView(stored), token: null }, { 'idempotency-replayed': 'true' });
  }
  const live = (await db.row(countLiveTokens(sourceId)))?.count ?? 0;
  if (live >= liveTokensMax) fail('token_limit_reached');
  const publicPrefix = randomBytes(6).toString('hex');
  const token = `iam_scim_${publicPrefix}_${randomBytes(32).toString('base64url')}`;
  observer()?.made('provisioning token', token);
  const made = (await db.row(
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
    resource: ['provisioning_token', made.id],
    reason: `source:${source.key} prefix:${publicPrefix}`,
  });
  return { ...issuanceView(made), token };
}

/** @throws Refusal `provisioning_source_not_found` */
export async function listProvisioningTokens(
  { db }: Context,
  tenantId: string,
  sourceId: string,
): Promise<ProvisioningToken[]> {
  if ((await db.row(findSource(tenantId, sourceId))) === undefined) fail('provisioning_source_not_found');
  const rows = await db.rows(findProvisioningTokens(sourceId));
  return rows.map((row) => ({ ...issuanceView(row), revokedAt: row.revoked_at }));
}

/** @throws Refusal `credential_not_found` */
export async function endProvisioningToken(
  context: Context,
  tenantId: string,
  sourceId: string,
  tokenId: string,
): Promise<undefined> {
  const { db } = context;
  const source = (await db.row(lockSource(tenantId, sourceId))) ?? fail('credential_not_found');
  const ended = (await db.row(revokeProvisioningToken(sourceId, tokenId))) ?? fail('credential_not_found');
  if (!ended.is_first) return;
  const publicPrefix = ended.public_prefix;
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

/** The Idempotency-Key, if there is one; a blank one is refused, because whoever sends it counts on it. */
function readKey({ headers }: Context): string | null {
  const header = headers['idempotency-key'];
  if (typeof header !== 'string') return null;
  const key = header.trim();
  if (key === '' || key.length > idempotencyKeyLengthMax) {
    const message = `must have 1 to ${idempotencyKeyLengthMax} characters`;
    throw new InvalidRequest([{ in: 'header', path: ['Idempotency-Key'], type: 'invalid', message }]);
  }
  return key;
}

function issuanceView(row: ProvisioningTokenRow) {
  return {
    id: row.id,
    name: row.name,
    publicPrefix: row.public_prefix,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
  };
}
