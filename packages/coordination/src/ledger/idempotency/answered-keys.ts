import { deleteExpiredKeys } from '@baton/kernel/http/idempotency';
import type { Job, JobTools } from '../../service/job.ts';
import type { Context } from '../context.ts';

const batchMax = 1000;

/** Deletes stored answers whose Idempotency-Keys have expired (core, section 19). */
export function deleteAnsweredKeys({ pool }: JobTools<Context>): Job {
  return { name: 'idempotency', batchMax, run: () => deleteExpiredKeys(pool, batchMax) };
}
