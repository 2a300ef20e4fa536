import { type Db, isUnreachable } from '@baton/kernel/database/db';
import type { ContentName, ContentStore } from '../content-store.ts';
import type { Context } from '../context.ts';
import {
  deleteContent,
  lockContentRow,
  updateUnneededToDoomed,
  updateWritingToDoomed,
} from './contents.sql.ts';

/**
 * Removes an object that nothing came to need. A failure is logged only: the sweep comes back to it.
 * @param context of a request, outside of its transaction
 */
export async function discardUnadopted(
  context: Context,
  store: ContentStore,
  name: ContentName,
): Promise<void> {
  await attempt(context, name, async () => {
    const given = await context.db.row(updateWritingToDoomed(name));
    if (given !== undefined) await removeDoomed(context, store, name);
  });
}

/** Locks a stored object against whoever would begin to need it, until the commit. */
export async function lockContent({ db, tenantId }: Context, id: string): Promise<void> {
  await db.run(lockContentRow({ id, tenantId }));
}

/** Gives up those of the locked objects that nothing needs. @returns their names; their bytes go after the commit */
export async function giveUpUnneeded(db: Db, contentIds: readonly string[]): Promise<ContentName[]> {
  const given = await db.rows(updateUnneededToDoomed(contentIds));
  return given.map(({ id, tenant_id: tenantId }) => ({ id, tenantId }));
}

/** Removes the bytes of objects that were given up. A failure is logged only: the sweep comes back to them. */
export async function removeNow(context: Context, store: ContentStore, name: ContentName): Promise<void> {
  await attempt(context, name, () => removeDoomed(context, store, name));
}

/** The bytes first: whatever happens between the two, the row leads to them. */
export async function removeDoomed(
  { db }: Pick<Context, 'db'>,
  store: ContentStore,
  name: ContentName,
): Promise<void> {
  await store.remove(name);
  await db.run(deleteContent(name));
}

async function attempt(
  { log, requestId }: Context,
  { id }: ContentName,
  act: () => Promise<void>,
): Promise<void> {
  try {
    await act();
  } catch (error) {
    const message = 'an object that nothing needs is left to the sweep';
    if (isUnreachable(error)) log.info({ content: id, requestId }, message);
    else log.warn({ err: error, content: id, requestId }, message);
  }
}
