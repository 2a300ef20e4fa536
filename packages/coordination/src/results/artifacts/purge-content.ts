import type { Answer, Surroundings } from '@baton/kernel/http/service';
import { eventText } from '@baton/values/event-text';
import { emit } from '../../ledger/journal/journal.ts';
import { requireSightOfPlace } from '../../service/sight/sight.ts';
import type { ContentName } from '../content-store.ts';
import { discardUnreferenced, lockContent, removeNow } from '../contents/discard-contents.ts';
import { requireAvailable, requireStore } from '../contents/transfers.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { type Artifact, type ArtifactRow, artifactOf } from './artifact.ts';
import { artifactContentPurged } from './artifact-contents.events.ts';
import { findArtifact, lockArtifact, updateArtifactToPurged } from './artifacts.sql.ts';

/** Collects the objects whose bytes are deleted after the command's commit. */
export type Doomed = ContentName[];

/**
 * Purges if the store is reachable, and deletes the bytes after the commit. If the deletion fails, the bytes can't be
 * read any more, and the sweep deletes them.
 * @throws Refusal `content_store_unavailable`
 */
export async function purgeAround(
  artifactId: string,
  { context, command }: Surroundings<Doomed, Context>,
): Promise<Answer> {
  const doomed: Doomed = [];
  const row = await context.db.row(findArtifact(context.tenantId, artifactId));
  // If the artifact has no stored bytes, the command refuses the request or does nothing; neither needs the store.
  if (row?.content_state !== 'stored') return command(doomed);
  const store = requireStore(context);
  await requireAvailable(context, () => store.probe());
  const answer = await command(doomed);
  for (const name of doomed) await removeNow(context, store, name);
  return answer;
}

/**
 * Deletes the bytes of an artifact permanently, unless another artifact or an upload has the same bytes. See
 * docs/reference/artifacts.md#purge.
 * @throws Refusal `not_found`, `content_not_stored`
 */
export async function purgeContent(
  context: Context,
  artifactId: string,
  reason: string,
  doomed: Doomed,
): Promise<Artifact> {
  const { db, tenantId } = context;
  // The command may be a retry after a rollback, whose objects must not be deleted.
  doomed.length = 0;
  const details = { artifactId };
  const row = (await db.row(lockArtifact(tenantId, artifactId))) ?? fail('not_found', details);
  await requireSightOfPlace(context, row, details);
  if (row.content_state === 'none') fail('content_not_stored', { artifactId });
  if (row.content_state === 'purged') return artifactOf(row);
  const contentId = row.content_id as string;
  await lockContent(context, contentId);
  const purged = (await db.row(updateArtifactToPurged(tenantId, artifactId))) as ArtifactRow;
  doomed.push(...(await discardUnreferenced(db, [contentId])));
  emit(
    context,
    artifactContentPurged,
    { entityId: artifactId, workspaceId: row.workspace_id },
    {
      artifactId,
      taskId: row.task_id,
      sha256: row.sha256 as string,
      sizeBytes: row.size_bytes as number,
      reason: eventText(reason),
      objectDeleted: doomed.length > 0,
    },
  );
  return artifactOf(purged);
}
