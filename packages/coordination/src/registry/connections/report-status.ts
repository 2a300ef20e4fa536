import { eventText } from '@baton/values/event-text';
import { emit } from '../../ledger/journal/journal.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { findOwnConnection } from './assigned.ts';
import { type Connection, type ConnectionReport, type ConnectionRow, connectionOf } from './connection.ts';
import { connectionStatusChanged } from './connections.events.ts';
import { isStaleCheck, updateToChecked, updateToLost } from './connections.sql.ts';
import { lockConnectionRow } from './connections.ts';

/**
 * Records an agent's report on one of its own connections. A check that is older than the last one, or older than the
 * credential, is refused as outdated; a time in the future is stored as now. See
 * docs/reference/connections.md#connections.
 * @throws Refusal `connection_not_assigned`, also for a key that does not exist, `stale_status_report`,
 * `status_reason_required`, `connection_status_conflict`
 */
export async function reportConnectionStatus(
  context: Context,
  key: string,
  { status, reason, message, checkedAt }: ConnectionReport,
): Promise<Connection> {
  const { db, tenantId } = context;
  if ((await findOwnConnection(context, key)) === undefined)
    fail('connection_not_assigned', { connection: key });
  const before = await lockConnectionRow(context, key);
  const { id } = before;
  if ((await db.row(isStaleCheck(tenantId, id, checkedAt)))?.is_stale === true)
    fail('stale_status_report', { connection: key, storedCheckedAt: before.last_checked_at });
  if (status === 'expired' && reason === undefined) fail('status_reason_required', { connection: key });
  const isLost = before.status === 'active' && status === 'expired';
  if (before.status !== status && !isLost)
    fail('connection_status_conflict', { connection: key, status: before.status });
  if (!isLost) return connectionOf((await db.row(updateToChecked(tenantId, id, checkedAt))) as ConnectionRow);
  const why = eventText(reason as string);
  const said = { reason: why, message: message === undefined ? null : eventText(message), checkedAt };
  const row = (await db.row(updateToLost(tenantId, id, said))) as ConnectionRow;
  const { type_key: type, connected_by: connectedBy } = row;
  const payload = { key, type, from: 'active', to: 'expired', reason: why, connectedBy } as const;
  emit(context, connectionStatusChanged, { entityId: id }, payload);
  return connectionOf(row);
}
