import type { Pool } from '@baton/kernel/database/db';
import type { JournalEvent } from '../../ledger/journal/event.ts';
import { addDigestItems } from '../digests/digest-items.ts';
import type { Notice, Recipient } from '../notices/notice.ts';
import { insertLeftOut } from './deliveries.sql.ts';

/** Adds a notice to the digests of people instead of sending it, once per event. */
export async function moveToDigests(
  pool: Pool,
  event: JournalEvent,
  notice: Pick<Notice, 'kind' | 'entityId'>,
  recipients: readonly Pick<Recipient, 'id' | 'digest_interval_seconds'>[],
): Promise<void> {
  if (recipients.length === 0) return;
  const { tenantId, id: eventId } = event;
  const ids = recipients.map(({ id }) => id);
  await pool.transaction(async (tx) => {
    const rows = await tx.rows(insertLeftOut({ tenantId, eventId, channel: 'mail' }, notice.kind, ids));
    const added = new Set(rows.map((row) => row.recipient_id));
    await addDigestItems(
      tx,
      event,
      notice,
      recipients.filter(({ id }) => added.has(id)),
    );
  });
}

/** Records that a message of a channel without digests isn't sent. */
export async function leaveOut(
  pool: Pool,
  { tenantId, id: eventId }: JournalEvent,
  { channel, kind, recipientId }: { channel: string; kind: string; recipientId: string },
): Promise<void> {
  await pool.run(insertLeftOut({ tenantId, eventId, channel }, kind, [recipientId]));
}
