import { deleteExpiredKeys } from '@baton/kernel/idempotency';
import type { Context } from '../context.ts';
import type { Job, JobTools } from '../../service/job.ts';

const batchMax = 1000;

/** Forgets answers whose keys are past their time (core, section 19). */
export function deleteAnsweredKeys({ pool }: JobTools<Context>): Job {
  return { name: 'idempotency', batchMax, run: () => deleteExpiredKeys(pool, batchMax) };
}
