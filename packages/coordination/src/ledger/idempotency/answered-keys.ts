import { deleteExpiredKeys } from '@baton/kernel/http/idempotency';
import type { Job, JobTools } from '../../service/job.ts';
import type { Context } from '../context.ts';

const batchMax = 1000;

/** Deletes stored responses whose Idempotency-Keys have expired. See docs/reference/idempotency.md#states-of-a-key. */
export function deleteAnsweredKeys({ pool }: JobTools<Context>): Job {
  return { name: 'idempotency', batchMax, run: () => deleteExpiredKeys(pool, batchMax) };
}
