import { createHash } from 'node:crypto';
import { canonicalJson } from '@baton/values/canonical-json';
import type { Db } from '../database/db.ts';
import { sqlState } from '../database/db.ts';
import {
  deleteDueKeys,
  deleteKey,
  findKey,
  findLiveKey,
  insertKey,
  type KeyedCall,
  updateKey,
} from './idempotency.sql.ts';
import { Refusal } from './refusal.ts';

export type { KeyedCall } from './idempotency.sql.ts';

/**
 * How long responses are stored, and how long duplicates wait (see docs/reference/idempotency.md). A key is inserted
 * inside the transaction of its command: a duplicate waits on the primary key until that transaction ends, a failed
 * command frees the key by its rollback, and no row is ever left pending.
 */
export interface IdempotencyOptions {
  storedSeconds: number;
  waitSeconds: number;
}

export interface StoredAnswer {
  status: number;
  body: unknown;
}

export const idempotencyKeyLengthMax = 200;

/** @throws Refusal `idempotency_key_required`, `invalid_idempotency_key` */
export function parseIdempotencyKey(header: string | undefined, required: boolean): string | undefined {
  const key = header?.trim() ?? '';
  if (key.length > idempotencyKeyLengthMax) throw new Refusal('invalid_idempotency_key');
  if (key !== '') return key;
  if (required) throw new Refusal('idempotency_key_required');
  // A client that sends the header relies on it: without a key, its retry would be executed again.
  if (header !== undefined) throw new Refusal('invalid_idempotency_key');
  return undefined;
}

/**
 * Requests with the same method, path, body and principal have the same fingerprint; the order of keys in the body
 * doesn't matter.
 */
export function fingerprintOf(method: string, path: string, body: unknown, principalId: string): string {
  return createHash('sha256')
    .update(`${method}\n${path}\n${principalId}\n${canonicalJson(body)}`)
    .digest('base64url');
}

/**
 * Acquires the key for this transaction, or finds the response that was stored under it.
 * @throws Refusal `idempotency_key_reused` for another request under the key, `idempotency_in_flight` when the first
 * request didn't end within `waitSeconds`
 */
export async function takeKey(
  tx: Db,
  call: KeyedCall,
  { storedSeconds, waitSeconds }: IdempotencyOptions,
): Promise<StoredAnswer | undefined> {
  try {
    const taken = await tx.run(insertKey(call, storedSeconds, waitSeconds * 1000));
    if (taken === 1) return undefined;
  } catch (error) {
    // The lock timeout or the statement timeout ends the wait, whichever is shorter.
    if (['55P03', '57014'].includes(sqlState(error) ?? ''))
      throw new Refusal('idempotency_in_flight', { key: call.key }, { headers: { 'retry-after': '1' } });
    throw error;
  }
  const stored = await tx.row(findKey(call));
  if (stored === undefined)
    throw new Refusal('idempotency_in_flight', { key: call.key }, { headers: { 'retry-after': '1' } });
  return sameCall(stored, call);
}

function sameCall(
  { fingerprint, status, body }: StoredAnswer & { fingerprint: string },
  call: KeyedCall,
): StoredAnswer {
  if (fingerprint !== call.fingerprint) throw new Refusal('idempotency_key_reused', { key: call.key });
  return { status, body };
}

/**
 * The response under the key, if its command has ended; looked up before an irreversible step. Doesn't acquire the key.
 * @throws Refusal `idempotency_key_reused`
 */
export async function findAnswer(db: Db, call: KeyedCall): Promise<StoredAnswer | undefined> {
  const stored = await db.row(findLiveKey(call));
  return stored === undefined ? undefined : sameCall(stored, call);
}

/** Stores the response with the key; one-time secrets are replaced by null. */
export async function storeAnswer(
  tx: Db,
  call: KeyedCall,
  answer: StoredAnswer,
  secrets: readonly string[],
): Promise<void> {
  const body = answer.body === undefined ? null : JSON.stringify(withoutSecrets(answer.body, secrets));
  await tx.run(updateKey(call, answer.status, body));
}

/** Frees the key of a command that was refused although its writes were committed. */
export async function freeKey(tx: Db, call: KeyedCall): Promise<void> {
  await tx.run(deleteKey(call));
}

function withoutSecrets(body: unknown, secrets: readonly string[]): unknown {
  if (secrets.length === 0) return body;
  const copy = structuredClone(body) as Record<string, unknown>;
  for (const path of secrets) {
    const names = path.split('.');
    const last = names.pop() as string;
    const owner = names.reduce<unknown>((at, name) => (at as Record<string, unknown> | null)?.[name], copy);
    if (typeof owner === 'object' && owner !== null) (owner as Record<string, unknown>)[last] = null;
  }
  return copy;
}

/** Deletes expired rows, at most `rowsMax`; returns their number. */
export function deleteExpiredKeys(db: Db, rowsMax: number): Promise<number> {
  return db.run(deleteDueKeys(rowsMax));
}
