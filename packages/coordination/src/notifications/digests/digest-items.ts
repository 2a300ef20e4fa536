import type { Pool } from '@baton/kernel/database/db';
import type { JournalEvent } from '../../ledger/journal/event.ts';
import type { Notice, Recipient } from '../notices/notice.ts';
import { insertDigestItems } from './digests.sql.ts';

/** The maximum number of items that wait for one digest of a person; any further items are only counted. */
export const itemsMax = 500;

/** Adds a notice to people's digests; a repeated event adds nothing. */
export async function addDigestItems(
  pool: Pool,
  { id: eventId, tenantId }: JournalEvent,
  { kind, entityId }: Notice,
  recipients: readonly Recipient[],
): Promise<void> {
  if (recipients.length === 0) return;
  const people = recipients.map(({ id, digest_interval_seconds }) => ({
    principal_id: id,
    digest_interval_seconds,
  }));
  await pool.run(insertDigestItems({ tenantId, eventId, kind, entityId }, people, itemsMax));
}
