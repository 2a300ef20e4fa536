import { isUnreachable, type Pool } from '@baton/kernel/database/db';
import type { Job, JobTools } from '../../service/job.ts';
import { createPutOff, type PutOff } from '../../service/put-off.ts';
import type { ContentStore } from '../content-store.ts';
import type { Context } from '../context.ts';
import {
  deleteUploads,
  findContentsToDelete,
  findExpiredUploads,
  lockUploads,
  updateWritingToDoomed,
} from './contents.sql.ts';
import { discardUnreferenced, removeDoomed } from './discard-contents.ts';

const batchMax = 100;
/**
 * The bytes of an upload arrive within 600 s and are stored within another 600 s; after that, the upload is either
 * complete or lost.
 */
const writingSecondsMax = 3600;
/**
 * After this many consecutive failures, the store counts as unavailable, because each attempt may last until its
 * timeout.
 */
const failuresMax = 3;

type Tools = Pick<JobTools<Context>, 'pool' | 'log'> & Pick<Context, 'contents'>;

/**
 * Deletes expired uploads and the bytes that nothing references. Bytes that a concurrent request is about to reference
 * are kept. A failed deletion is retried later and doesn't block the others. See docs/reference/artifacts.md#storage.
 */
export function deleteUnreferencedContents({ pool, log, contents }: Tools): Job {
  const name = 'contents';
  const putOff = createPutOff(name, log);
  return {
    name,
    batchMax,
    async run() {
      const expired = await forgetExpiredUploads(pool, putOff);
      if (contents === undefined) return expired;
      return Math.max(expired, await deleteDoomed(pool, contents, putOff));
    },
  };
}

/** Processes a batch in one transaction or, if that fails, each upload in its own. */
async function forgetExpiredUploads(pool: Pool, putOff: PutOff): Promise<number> {
  const due = await pool.rows(findExpiredUploads(putOff.waiting(), batchMax));
  if (due.length === 0) return 0;
  const ids = due.map(({ id }) => id);
  try {
    return await forget(pool, ids);
  } catch (error) {
    if (isUnreachable(error)) throw error;
    let handled = 0;
    for (const id of ids) handled += await putOff.attempt(id, () => forget(pool, [id]));
    return handled;
  }
}

function forget(pool: Pool, ids: readonly string[]): Promise<number> {
  return pool.transaction(async (tx) => {
    const uploads = await tx.rows(lockUploads(ids));
    await tx.run(deleteUploads(uploads.map(({ id }) => id)));
    await discardUnreferenced(tx, [...new Set(uploads.map(({ content_id: contentId }) => contentId))]);
    return uploads.length;
  });
}

async function deleteDoomed(pool: Pool, contents: ContentStore, putOff: PutOff): Promise<number> {
  const due = await pool.rows(findContentsToDelete(writingSecondsMax, putOff.waiting(), batchMax));
  let deleted = 0;
  let failures = 0;
  for (const { id, tenant_id: tenantId, state } of due) {
    if (failures === failuresMax) break;
    const name = { id, tenantId };
    deleted += await putOff.attempt(id, async () => {
      // The upload may have finished after all.
      if (state === 'writing' && (await pool.row(updateWritingToDoomed(name))) === undefined) return 0;
      await removeDoomed({ db: pool }, contents, name);
      return 1;
    });
    failures = putOff.isWaiting(id) ? failures + 1 : 0;
  }
  return deleted;
}
