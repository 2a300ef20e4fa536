import { setTimeout as sleep } from 'node:timers/promises';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { insertUse, updateKept, upsertUnkept } from './leftovers.sql.ts';
import { endLeftover } from './leftovers.ts';
import type { SecretName } from './secret-store.ts';

/**
 * Secrets at fixed paths, which other programs read from an external store. That store has no transactions, and a
 * request may reach it late; so each path has one writer at a time, recorded among the leftovers. After a crash the
 * worker deletes the secret at a path that no row refers to. The table of encrypted values needs none of this, because
 * it changes in the transaction.
 */

/** How long a reservation lasts: longer than a write may take between its request to the store and its commit. */
const useSeconds = 60;
const waitMsMax = 5000;
const pollMs = 50;

/** The reservation of a path for one write. */
export interface PathUse {
  readonly secret: SecretName;
  /** The time at which the worker takes it over; null for the table of encrypted values. */
  readonly dueAt: string | null;
}

/**
 * Reserves a path for one write, once its previous write has ended. Call it outside of any transaction.
 * @param isNamed whether a row refers to it; if so, nothing is deleted after a crash of this process
 * @throws Refusal `secret_store_unavailable` after waiting for 5 s
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
    if (performance.now() > untilMs) return refuseUse('another write of this secret is in progress');
    await sleep(pollMs);
  }
}

/**
 * Records in a write's transaction that a row now refers to the path.
 * @throws Refusal `secret_store_unavailable` when the reservation has expired
 */
export async function keepPath({ db }: Pick<Context, 'db'>, { secret, dueAt }: PathUse): Promise<void> {
  if (dueAt === null) return;
  if ((await db.row(updateKept(secret, dueAt, true))) === undefined) refuseUse('the command took too long');
}

/** Deletes the secret at a path in the transaction that deletes its row, or schedules the deletion. */
export async function leavePath(
  { db, secrets }: Pick<Context, 'db' | 'secrets'>,
  secret: SecretName,
): Promise<void> {
  if (secrets.kind === 'outside') await db.run(upsertUnkept(secret));
  else if (secrets.kind === 'table') await secrets.apply(db, await secrets.delete(secret));
}

/**
 * Ends a reservation, whatever the outcome of the write. A secret that no row refers to is deleted; while the store is
 * unavailable, that is left to the worker.
 */
export async function endPathUse(context: Context, { secret, dueAt }: PathUse): Promise<void> {
  if (dueAt === null) return;
  await endLeftover(context, secret, dueAt).catch((error: unknown) => {
    const { tenantId, log } = context;
    log.warn({ err: error, tenantId }, 'the deletion of a path in the secret store is left to the worker');
  });
}

function refuseUse(reason: string): never {
  return fail('secret_store_unavailable', {}, { reason, headers: { 'retry-after': '1' } });
}
