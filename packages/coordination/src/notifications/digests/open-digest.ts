import type { Db, Pool } from '@baton/kernel/database/db';
import type { JournalEvent } from '../../ledger/journal/event.ts';
import { isKind, modesOf, type NotificationKind } from '../kinds.ts';
import { findPerson, type Subject, selectWaitingFor } from '../notices/find-notice.ts';
import type { Notice, Recipient } from '../notices/notice.ts';
import type { Settings } from '../settings.ts';
import { itemsMax } from './digest-items.ts';
import {
  closeDigest,
  type DigestItemRow,
  deleteDigestItems,
  findDigestItems,
  findLeftOut,
  lockDigest,
} from './digests.sql.ts';

/** The maximum number of notices that one digest shows in full. */
const noticesMax = 50;

export interface OpenDigest {
  readonly recipient: Recipient;
  readonly notices: readonly Notice[];
  /** How many more notices wait for the person. */
  readonly more: number;
  /** Older notices that were not stored, and may or may not wait for the person. */
  readonly leftOut: number;
  /** The kinds of all that wait. */
  readonly kinds: readonly NotificationKind[];
}

/** Ends a digest: its items are deleted. @param db a transaction */
export type CloseDigest = (db: Db) => Promise<void>;

/**
 * Reads the content of a digest: the items that wait for the person at this moment, and that the person may see, oldest
 * first. Everything that is counted is checked, not only what is shown.
 * @returns no digest for a person who is disabled, or for whom nothing waits
 */
export async function openDigest(
  pool: Pool,
  settings: Settings,
  { tenantId, entityId: principalId }: JournalEvent,
): Promise<{ digest: OpenDigest | undefined; close: CloseDigest }> {
  const items = await pool.rows(findDigestItems(tenantId, principalId, itemsMax));
  const leftOut = (await pool.row(findLeftOut(tenantId, principalId)))?.left_out ?? 0;
  const close = async (db: Db) => {
    await db.run(lockDigest(tenantId, principalId));
    await db.run(deleteDigestItems(tenantId, principalId, items.at(-1)?.id ?? 0));
    await db.run(closeDigest(tenantId, principalId, leftOut));
  };
  const recipient = await findPerson(pool, tenantId, principalId);
  if (recipient === undefined) return { digest: undefined, close };
  const waiting = await selectWaitingFor(
    pool,
    { tenantId, principalId },
    wantedOf(items, recipient),
    settings,
  );
  if (waiting.length === 0) return { digest: undefined, close };
  const digest = {
    recipient,
    notices: waiting.slice(0, noticesMax),
    more: Math.max(0, waiting.length - noticesMax),
    leftOut,
    kinds: [...new Set(waiting.map(({ kind }) => kind))],
  };
  return { digest, close };
}

/** A task may have been assigned to the same person twice. */
function wantedOf(items: readonly DigestItemRow[], { modes }: Recipient): Subject[] {
  const subjects = items.flatMap(({ kind, entity_id: entityId }) =>
    isKind(kind) && modesOf(modes, kind).mail !== 'off' ? [{ kind, entityId }] : [],
  );
  return [...new Map(subjects.map((one) => [`${one.kind} ${one.entityId}`, one])).values()];
}
