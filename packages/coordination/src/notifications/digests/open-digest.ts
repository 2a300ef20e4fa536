import type { Db, Pool } from '@baton/kernel/database/db';
import type { JournalEvent } from '../../ledger/journal/event.ts';
import { isKind, modesOf, type NotificationKind } from '../kinds.ts';
import { findPerson, findRecipientsOf, findWaitingOf } from '../notices/find-notice.ts';
import type { Notice, Recipient } from '../notices/notice.ts';
import type { Settings } from '../settings.ts';
import { itemsMax } from './digest-items.ts';
import {
  closeDigest,
  type DigestItemRow,
  deleteDigestItems,
  findDigestItems,
  findLeftOut,
} from './digests.sql.ts';

/** The maximum number of notices that one digest shows in full. */
export const noticesMax = 50;

export interface OpenDigest {
  readonly recipient: Recipient;
  readonly notices: readonly Notice[];
  /** Notices that are only counted. */
  readonly more: number;
  /** The kinds of all items. */
  readonly kinds: readonly NotificationKind[];
  /** Ends the digest: its items are deleted. */
  close(db: Db): Promise<void>;
}

/**
 * Reads the content of a digest: the oldest items that still wait for the person and that the person may still see.
 * @returns undefined for a person who is disabled, or without items
 */
export async function openDigest(
  pool: Pool,
  settings: Settings,
  { tenantId, entityId: principalId }: JournalEvent,
): Promise<OpenDigest | undefined> {
  const items = await pool.rows(findDigestItems(tenantId, principalId, itemsMax));
  const leftOut = (await pool.row(findLeftOut(tenantId, principalId)))?.left_out ?? 0;
  const close = async (db: Db) => {
    await db.run(deleteDigestItems(tenantId, principalId, items.at(-1)?.id ?? 0));
    await db.run(closeDigest(tenantId, principalId, leftOut));
  };
  const recipient = await findPerson(pool, tenantId, principalId);
  if (recipient === undefined || items.length === 0) {
    await close(pool);
    return undefined;
  }
  // A task may have been assigned to the same person twice.
  const distinct = [...new Map(items.map((item) => [`${item.kind} ${item.entity_id}`, item])).values()];
  const wanted = distinct.filter(({ kind }) => isKind(kind) && modesOf(recipient.modes, kind).mail !== 'off');
  const notices: Notice[] = [];
  for (const item of wanted.slice(0, noticesMax)) {
    const notice = await noticeOf(pool, settings, tenantId, principalId, item);
    if (notice !== undefined) notices.push(notice);
  }
  const more = Math.max(0, wanted.length - noticesMax) + (wanted.length === 0 ? 0 : leftOut);
  const kinds = wanted.flatMap(({ kind }) => (isKind(kind) ? [kind] : []));
  return { recipient, notices, more, kinds, close };
}

/** Undefined if the notice is no longer waiting for the person. */
async function noticeOf(
  pool: Pool,
  settings: Settings,
  tenantId: string,
  principalId: string,
  { kind, entity_id: entityId }: DigestItemRow,
): Promise<Notice | undefined> {
  if (!isKind(kind)) return undefined;
  const waiting = await findWaitingOf(pool, tenantId, {
    kind,
    entityId,
    mentionedIds: [principalId],
  });
  if (!waiting?.candidateIds.includes(principalId)) return undefined;
  const only = { ...waiting, candidateIds: [principalId] };
  const { recipients } = await findRecipientsOf(pool, tenantId, only, settings);
  return recipients.length === 0 ? undefined : waiting.notice;
}
