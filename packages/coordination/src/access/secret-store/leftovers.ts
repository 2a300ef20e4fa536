import { newId } from '@baton/values/ids';
import type { Job, JobTools } from '../../service/job.ts';
import { createDueJob } from '../../service/queue-walk.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import {
  deleteKeptLeftover,
  deleteLeftover,
  deleteLeftoverInTime,
  findDueLeftovers,
  insertLeftover,
  type LeftoverRow,
  takeLeftover,
} from './leftovers.sql.ts';
import type { SecretChange, SecretName } from './secret-store.ts';

/**
 * Secrets that rows refer to. Each value has its own name, so a row and its secret always match, even with concurrent
 * writers. An external store has no transactions: a name is recorded before its value is stored, and the worker deletes
 * values that no row refers to, even after a crash between the two.
 */

/**
 * The time after which an unreferenced value may be deleted: longer than a command may take from its `put` to its
 * commit.
 */
const intentSeconds = 600;

/** The naming scheme for the secrets of one object: `<kind>-<id>` in a folder. */
export interface SecretKind {
  readonly folder: string;
  readonly kind: string;
}

/**
 * Stores a new value, before the command's transaction.
 * @param context its `db` is the pool
 * @throws Refusal `secret_store_unavailable`
 */
export async function putNewSecret(
  { db, tenantId, secrets }: Context,
  { folder, kind }: SecretKind,
  value: string,
): Promise<SecretChange> {
  const secret = { tenantId, folder, name: `${kind}-${newId()}` };
  if (secrets.kind === 'outside') await db.run(insertLeftover(secret, intentSeconds));
  return secrets.put(secret, value);
}

/**
 * Assigns a new value to its object, inside the command's transaction.
 * @throws Refusal `secret_store_unavailable` if more than ten minutes have passed since the `put`
 */
export async function keepNewSecret({ db, secrets }: Context, change: SecretChange): Promise<void> {
  if (secrets.kind === 'outside' && (await db.run(deleteLeftoverInTime(change.secret))) === 0)
    fail('secret_store_unavailable', {}, { reason: 'the command took too long' });
  await secrets.apply(db, change);
}

/** Releases the secret that a row referred to until now, inside the command's transaction. */
export async function dropSecret({ db, secrets }: Context, secret: SecretName): Promise<void> {
  if (secrets.kind === 'outside') await db.run(insertLeftover(secret, 0));
  else if (secrets.kind === 'table') await secrets.apply(db, await secrets.delete(secret));
}

/**
 * How long the path is reserved: longer than a request to the store may take, so that no other process uses the path in
 * the meantime.
 */
const takenSeconds = 60;

/**
 * Deletes the secret at a path, unless a row refers to it, and then the entry, if it hasn't changed since it was read.
 * @returns the number of deleted entries
 * @throws Refusal `secret_store_unavailable`; the entry is due again a minute later
 */
export async function endLeftover(
  { db, secrets }: Pick<Context, 'db' | 'secrets'>,
  secret: SecretName,
  dueAt: string,
): Promise<number> {
  const taken = await db.row(takeLeftover(secret, dueAt, takenSeconds));
  if (taken === undefined) return 0;
  if (taken.is_kept && (await db.run(deleteKeptLeftover(secret))) === 1) return 1;
  await secrets.delete(secret);
  return db.run(deleteLeftover(secret));
}

const batchMax = 50;

/** Deletes unused secrets of an external store. While the store is unavailable, the entries remain. */
export function deleteSecretLeftovers({
  pool,
  log,
  secrets,
}: JobTools<Context> & Pick<Context, 'secrets'>): Job {
  const name = 'secret leftovers';
  return createDueJob<LeftoverRow>(
    { name, batchMax, log },
    {
      find: (after) =>
        secrets.kind === 'outside' ? pool.rows(findDueLeftovers(after, batchMax)) : Promise.resolve([]),
      positionOf: (row) => [row.due_at, row.name],
      handle: ({ tenant_id: tenantId, folder, name: secretName, due_at: dueAt }) =>
        endLeftover({ db: pool, secrets }, { tenantId, folder, name: secretName }, dueAt),
    },
  );
}
