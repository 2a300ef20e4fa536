import type { Db, Pool } from '@baton/kernel/database/db';
import type { Logger } from '@baton/kernel/process/log';
import { startJob } from '../../service/background-job.ts';
import { secretHash } from '../../service/secrets.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import {
  deleteExpiredAssertions,
  findUsedAssertion,
  insertUsedAssertion,
  lockUsedAssertions,
} from './assertion.sql.ts';

const jtiLengthMax = 500;
/** How far the clock of this process, which determines when an assertion expires, may be behind the database's. */
const clockMarginSeconds = 300;
const retryAfterSeconds = 60;
const intervalMs = 60_000;
const batchRowsMax = 1000;

/** A verified assertion under a rule that accepts each assertion once. */
export interface SingleUse {
  readonly providerId: string;
  readonly ruleId: string;
  readonly claims: Readonly<Record<string, unknown>>;
}

/**
 * Refuses an assertion that was used, before a token is signed for it.
 * @throws Refusal `invalid_assertion`, also without a `jti`
 */
export async function refuseUsed(db: Db, { providerId, claims }: SingleUse): Promise<void> {
  if ((await db.row(findUsedAssertion(providerId, jtiHashOf(claims)))) !== undefined) refuseReplay();
}

/**
 * Uses up an assertion. Call it in the transaction that records the token, after the token was signed: if that
 * transaction fails, the assertion can be presented again.
 * @throws Refusal `invalid_assertion` without a `jti`, and for a used one; `unavailable` when the provider or the rule
 * has used up too many that haven't expired
 */
export async function useAssertion(
  db: Db,
  { settings }: Pick<Context, 'settings'>,
  { providerId, ruleId, claims }: SingleUse,
): Promise<void> {
  const max = settings.IAM_USED_ASSERTIONS_MAX;
  await db.run(lockUsedAssertions(providerId));
  const found = await db.row(
    insertUsedAssertion({
      providerId,
      ruleId,
      jtiHash: jtiHashOf(claims),
      expiresAtSeconds: Math.ceil(claims['exp'] as number) + clockMarginSeconds,
      ofProviderMax: max,
      // So that the jobs of one rule can't block those of the others.
      ofRuleMax: Math.ceil(max / 2),
    }),
  );
  if (found?.is_new === true) return;
  if (found?.is_full === true)
    fail(
      'unavailable',
      {},
      { headers: { 'retry-after': String(retryAfterSeconds) }, reason: 'used assertions' },
    );
  refuseReplay();
}

function jtiHashOf({ jti }: SingleUse['claims']): string {
  return typeof jti === 'string' && jti !== '' && jti.length <= jtiLengthMax
    ? secretHash(jti)
    : fail('invalid_assertion', {}, { reason: 'assertion without jti' });
}

function refuseReplay(): never {
  return fail('invalid_assertion', {}, { reason: 'assertion used before' });
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
