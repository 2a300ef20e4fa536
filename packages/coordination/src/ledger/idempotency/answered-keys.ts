import { deleteExpiredKeys } from '@baton/kernel/idempotency';
import type { WorkerTools } from '../../app/background.ts';
import type { Job } from '../../app/worker.ts';

const batchMax = 1000;

/** Forgets answers whose keys are past their time (core, section 19). */
export function deleteAnsweredKeys({ pool }: WorkerTools): Job {
  return { name: 'idempotency', batchMax, run: () => deleteExpiredKeys(pool, batchMax) };
}
