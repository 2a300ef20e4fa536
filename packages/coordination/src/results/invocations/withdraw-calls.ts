import { cancelCalls } from '../../leases/invocations/cancel-invocations.ts';
import type { Job, JobTools } from '../../service/job.ts';
import { createDueJob } from '../../service/queue-walk.ts';
import type { Context } from '../context.ts';
import {
  type DueLossRow,
  deleteLoss,
  findCallsOfSubject,
  findLosses,
  lockFreeLoss,
  updateLoss,
} from './basis-losses.sql.ts';
import { namesOfBindings } from './call-rules.ts';
import { updateQueueOf } from './claim-invocation.sql.ts';

const batchMax = 50;
/** Maximum number of calls per subject that one transaction examines. */
const callsMax = 200;

/**
 * Ends the calls that have lost their basis: their principal was disabled, its credential was revoked or narrowed, the
 * skill was disabled or revoked from the principal, the run ended, or the task was closed. If a skill moved, its calls
 * move to its new queue. See docs/reference/skills.md#lost-basis.
 */
export function withdrawCalls({ pool, command, log }: JobTools<Context>): Job {
  const name = 'skill-bases';
  return createDueJob<DueLossRow>(
    { name, batchMax, log },
    {
      find: (after) => pool.rows(findLosses(after, batchMax)),
      positionOf: ({ noted_at: at, id }) => [at, id],
      handle: ({ id, tenant_id: tenantId }) => command(name, tenantId, (context) => lookAt(context, id)),
    },
  );
}

/** @returns the number of examined calls, at least 1; 0 if another worker has locked the entry */
async function lookAt(context: Context, lossId: string): Promise<number> {
  const { db, tenantId } = context;
  const loss = await db.row(lockFreeLoss(tenantId, lossId));
  if (loss === undefined) return 0;
  const calls = (await db.rows(findCallsOfSubject(tenantId, loss, namesOfBindings(context), callsMax))).slice(
    0,
    callsMax,
  );
  for (const [reason, lost] of Map.groupBy(calls, (call) => call.lost)) {
    const ids = lost.map(({ id }) => id);
    if (reason !== null)
      await cancelCalls(context, ids, { code: 'basis_revoked', reason, initiator: 'system' });
    else if (loss.kind === 'skill') await db.run(updateQueueOf(tenantId, ids));
  }
  const last = calls.length < callsMax ? undefined : calls.at(-1);
  await db.run(last === undefined ? deleteLoss(tenantId, lossId) : updateLoss(tenantId, lossId, last.id));
  return Math.max(1, calls.length);
}
