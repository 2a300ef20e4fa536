import type { Db, Pool } from '@baton/kernel/database/db';
import type { Logger } from '@baton/kernel/process/log';
import { startJob } from '../../service/background-job.ts';
import { secretHash } from '../../service/secrets.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { deleteExpiredAssertions, insertUsedAssertion } from './assertion.sql.ts';

const jtiLengthMax = 500;
/** How far the clock of this process, which determines when an assertion expires, may be behind the database's. */
const clockMarginSeconds = 300;
const retryAfterSeconds = 60;
const intervalMs = 60_000;
const batchRowsMax = 1000;

/**
 * Uses up an assertion under a rule that accepts each assertion once.
 * @throws Refusal `invalid_assertion` without a `jti`, and for a used one; `unavailable` when the provider has used up
 * too many that haven't expired
 */
export async function useAssertion(
  db: Db,
  { settings }: Pick<Context, 'settings'>,
  providerId: string,
  { jti, exp }: Readonly<Record<string, unknown>>,
): Promise<void> {
  if (typeof jti !== 'string' || jti === '' || jti.length > jtiLengthMax)
    return fail('invalid_assertion', {}, { reason: 'assertion without jti' });
  const found = await db.row(
    insertUsedAssertion({
      providerId,
      jtiHash: secretHash(jti),
      expiresAtSeconds: Math.ceil(exp as number) + clockMarginSeconds,
      liveMax: settings.IAM_USED_ASSERTIONS_MAX,
    }),
  );
  if (found?.is_new === true) return;
  if (found?.is_full === true)
    fail(
      'unavailable',
      {},
      { headers: { 'retry-after': String(retryAfterSeconds) }, reason: 'used assertions' },
    );
  fail('invalid_assertion', {}, { reason: 'assertion used before' });
}

/** Deletes expired assertions once a minute. @returns a function that stops it, after the current batch */
export function startUsedAssertionSweep(pool: Pool, log: Logger): () => Promise<void> {
  return startJob({
    firstMs: intervalMs,
    intervalMs,
    log,
    failure: 'expired assertions could not be deleted',
    work: (stopping) => sweepUsedAssertions(pool, stopping),
  });
}

export async function sweepUsedAssertions(pool: Pool, stopping?: AbortSignal): Promise<void> {
  for (let deleted = batchRowsMax; deleted === batchRowsMax && stopping?.aborted !== true; )
    deleted = (await pool.rows(deleteExpiredAssertions(batchRowsMax))).length;
}
