import { emit } from '../../ledger/journal/journal.ts';
import type { Job, JobTools } from '../../service/job.ts';
import { createDueJob } from '../../service/queue-walk.ts';
import type { Context } from '../context.ts';
import { digestDue } from './digests.events.ts';
import { type DueDigestRow, findDueDigests, takeDueDigest } from './digests.sql.ts';

const batchMax = 100;

/** Writes an event for each due digest: the outbox delivers it like any other, with retries and dead letters. */
export function startDueDigests({ pool, log, command }: JobTools<Context>): Job {
  const name = 'notification digests';
  return createDueJob<DueDigestRow>(
    { name, batchMax, log },
    {
      find: (after) => pool.rows(findDueDigests(after, batchMax)),
      positionOf: (row) => [row.due_at, row.principal_id],
      handle: ({ tenant_id: tenantId, principal_id: principalId }) =>
        command(name, tenantId, async (context) => {
          const due = await context.db.row(takeDueDigest(tenantId, principalId));
          if (due === undefined) return 0;
          emit(context, digestDue, { entityId: principalId }, { principalId, items: due.items });
          return 1;
        }),
    },
  );
}
