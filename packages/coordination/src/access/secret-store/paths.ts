import { setTimeout as sleep } from 'node:timers/promises';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { insertUse, updateKept, upsertUnkept } from './leftovers.sql.ts';
import { endLeftover } from './leftovers.ts';
import type { SecretName } from './secret-store.ts';

/**
 * Secrets at fixed paths, which others read in an outside store. That store knows no transactions, and a request may reach
 * it late: so a path is used by one write at a time, noted among the leftovers. What a process that ended left at a path
 * that no row names, the worker deletes. The table of sealed values needs none of this: it changes in the transaction.
 */

/** Longer than any write may take from its request to the store to its commit. */
const useSeconds = 60;
const waitMsMax = 5000;
const pollMs = 50;

/** A use of a path, until the write has ended. */
export interface PathUse {
  readonly secret: SecretName;
  /** When the worker ends it; null for the table of sealed values. */
  readonly dueAt: string | null;
}

/**
 * Takes a path for one write, once no other write of it goes on. Outside of any transaction.
 * @param isNamed whether a row names it: then nothing is deleted where this process ends in the middle
 * @throws Refusal `secret_store_unavailable` after 5 s of waiting
 */
export async function usePath(
  { db, secrets }: Pick<Context, 'db' | 'secrets'>,
  secret: SecretName,
  isNamed: () => Promise<boolean>,
): Promise<PathUse> {
  if (secrets.kind !== 'outside') return { secret, dueAt: null };
  const untilMs = performance.now() + waitMsMax;
  for (;;) {
    const taken = await db.row(insertUse(secret, useSeconds));
    if (taken !== undefined) {
      if (!(await isNamed())) await db.row(updateKept(secret, taken.due_at, false));
      return { secret, dueAt: taken.due_at };
    }
    if (performance.now() > untilMs) return refuseUse('another write of this secret goes on');
    await sleep(pollMs);
  }
}

/** Notes in the transaction of a write that a row names the path now. @throws Refusal `secret_store_unavailable` when it came too late */
export async function keepPath({ db }: Pick<Context, 'db'>, { secret, dueAt }: PathUse): Promise<void> {
  if (dueAt === null) return;
  if ((await db.row(updateKept(secret, dueAt, true))) === undefined) refuseUse('the command took too long');
}

/** Removes what is at a path in the transaction that takes away its row, or has it removed afterwards. */
export async function leavePath(
  { db, secrets }: Pick<Context, 'db' | 'secrets'>,
  secret: SecretName,
): Promise<void> {
  if (secrets.kind === 'outside') await db.run(upsertUnkept(secret));
  else if (secrets.kind === 'table') await secrets.apply(db, await secrets.delete(secret));
}

/** Ends a use, whatever became of the write: what no row names is deleted; while the store is away, the worker does it later. */
export async function endPathUse(context: Context, { secret, dueAt }: PathUse): Promise<void> {
  if (dueAt === null) return;
  await endLeftover(context, secret, dueAt).catch((error: unknown) => {
    const { tenantId, log } = context;
    log.warn({ err: error, tenantId }, 'a path in the secret store is left to the worker');
  });
}

function refuseUse(reason: string): never {
  return fail('secret_store_unavailable', {}, { reason, headers: { 'retry-after': '1' } });
}
