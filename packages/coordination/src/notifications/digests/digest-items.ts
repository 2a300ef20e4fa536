import type { Db } from '@baton/kernel/database/db';
import type { JournalEvent } from '../../ledger/journal/event.ts';
import type { Notice, Recipient } from '../notices/notice.ts';
import { deleteSurplusItems, insertDigestItems, scheduleDigests } from './digests.sql.ts';

/**
 * The maximum number of items that wait for one digest of a person. A further item replaces the oldest one, which is
 * the most likely to have been dealt with; replaced items are only counted.
 */
export const itemsMax = 500;

/**
 * Adds a notice to people's digests. Their digests remain locked until the commit, so that the maximum is exact.
 * @param db a transaction
 */
export async function addDigestItems(
  db: Db,
  { id: eventId, tenantId }: JournalEvent,
  { kind, entityId }: Pick<Notice, 'kind' | 'entityId'>,
  recipients: readonly Pick<Recipient, 'id' | 'digest_interval_seconds'>[],
): Promise<void> {
  if (recipients.length === 0) return;
  const people = recipients.map(({ id, digest_interval_seconds }) => ({
    principal_id: id,
    digest_interval_seconds,
  }));
  const ids = recipients.map(({ id }) => id);
  await db.run(scheduleDigests(tenantId, people));
  await db.run(insertDigestItems({ tenantId, eventId, kind, entityId }, ids));
  await db.run(deleteSurplusItems(tenantId, ids, itemsMax));
}
