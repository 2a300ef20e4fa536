import { type Db, isUnreachable } from '@baton/kernel/database/db';
import type { ContentName, ContentStore } from '../content-store.ts';
import type { Context } from '../context.ts';
import {
  deleteContent,
  lockContentRow,
  updateUnreferencedToDoomed,
  updateWritingToDoomed,
} from './contents.sql.ts';

/**
 * Removes an object that nothing references. A failure is only logged, because the sweep retries.
 * @param context of a request, outside its transaction
 */
export async function discardUnowned(
  context: Context,
  store: ContentStore,
  name: ContentName,
): Promise<void> {
  await attempt(context, name, async () => {
    const given = await context.db.row(updateWritingToDoomed(name));
    if (given !== undefined) await removeDoomed(context, store, name);
  });
}

/** Locks a stored object against new references until the commit. */
export async function lockContent({ db, tenantId }: Context, id: string): Promise<void> {
  await db.run(lockContentRow({ id, tenantId }));
}

/**
 * Discards the locked objects that nothing references.
 * @returns their names; their bytes are deleted after the commit
 */
export async function discardUnreferenced(db: Db, contentIds: readonly string[]): Promise<ContentName[]> {
  const given = await db.rows(updateUnreferencedToDoomed(contentIds));
  return given.map(({ id, tenant_id: tenantId }) => ({ id, tenantId }));
}

/** Removes the bytes of discarded objects. A failure is only logged, because the sweep retries. */
export async function removeNow(context: Context, store: ContentStore, name: ContentName): Promise<void> {
  await attempt(context, name, () => removeDoomed(context, store, name));
}

/** Deletes the bytes first: after a crash between the two deletions, the row still references the object. */
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
    const message = 'could not delete an unused object; the sweep will retry';
    if (isUnreachable(error)) log.info({ content: id, requestId }, message);
    else log.warn({ err: error, content: id, requestId }, message);
  }
}
