import { emit } from '../../ledger/journal/journal.ts';
import type { Job, JobTools } from '../../service/job.ts';
import { createDueJob } from '../../service/queue-walk.ts';
import type { Context } from '../context.ts';
import { connectionStatusChanged } from './connections.events.ts';
import { type ExpiringRow, findExpired, updateToExpired } from './connections.sql.ts';

const batchMax = 100;

/**
 * Marks connections whose credential has expired, by the database's clock. See
 * docs/reference/connections.md#connections.
 */
export function expireDueConnections({ pool, command, log }: JobTools<Context>): Job {
  const name = 'connections';
  return createDueJob<ExpiringRow>(
    { name, batchMax, log },
    {
      find: (after) => pool.rows(findExpired(after, batchMax)),
      positionOf: (row) => [row.expires_at, row.id],
      handle: ({ id, tenant_id: tenantId }) =>
        command(name, tenantId, async (context) => {
          const row = await context.db.row(updateToExpired(tenantId, id));
          if (row === undefined) return 0;
          const { key, type_key: type, connected_by: connectedBy } = row;
          const said = {
            key,
            type,
            from: 'active',
            to: 'expired',
            reason: 'expired_by_time',
            connectedBy,
          } as const;
          emit(context, connectionStatusChanged, { entityId: id }, said);
          return 1;
        }),
    },
  );
}
