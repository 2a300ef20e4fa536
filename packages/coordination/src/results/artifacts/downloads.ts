import type { Readable } from 'node:stream';
import { type Answer, type Reply, reply, type Surroundings } from '@baton/kernel/http/service';
import { emit } from '../../ledger/journal/journal.ts';
import type { TaskRef } from '../../work/tasks/task-ref.ts';
import { requireAvailable, requireStore, transfers } from '../contents/transfers.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import type { ArtifactRow } from './artifact.ts';
import { artifactContentRead } from './artifact-contents.events.ts';
import { getArtifactRow } from './artifacts.ts';
import { contentDisposition } from './disposition.ts';
import { findReadableArtifact } from './readable-artifact.ts';

/** An opened object whose bytes haven't been sent yet. */
export interface OpenContent {
  readonly artifact: ArtifactRow;
  readonly forTaskId: string | null;
  readonly stream: Readable;
  /** False for HEAD, which reads no bytes. */
  readonly isRead: boolean;
}

/**
 * Opens the bytes of an artifact, then runs the command that records the read: a read that the store can't serve is not
 * recorded, and nothing is sent before it is recorded.
 * @throws Refusal `not_found`, `permission_denied`, `content_not_found`, `content_purged`, `content_store_unavailable`
 */
export async function openContent(
  artifactId: string,
  forTask: TaskRef | undefined,
  { incoming, context, command }: Surroundings<OpenContent, Context>,
): Promise<Answer> {
  const { artifact, forTaskId } = await findReadableArtifact(context, artifactId, forTask);
  requireStored(artifact);
  const store = requireStore(context);
  const counted = transfers.begin(context);
  try {
    const name = { tenantId: context.tenantId, id: artifact.content_id as string };
    const stream = await requireAvailable(context, () => store.open(name, artifact.size_bytes as number));
    stream.once('close', () => counted.end());
    try {
      return await command({ artifact, forTaskId, stream, isRead: incoming.method !== 'HEAD' });
    } catch (error) {
      stream.destroy();
      throw error;
    }
  } catch (error) {
    counted.end();
    throw error;
  }
}

function requireStored({ id, content_state: state }: ArtifactRow): void {
  if (state === 'none') fail('content_not_found', { artifactId: id });
  if (state === 'purged') fail('content_purged', { artifactId: id });
}

/**
 * Records the read of the bytes and returns them. @throws Refusal `content_purged` if they have been purged in the
 * meantime
 */
export async function readContent(
  context: Context,
  { artifact, forTaskId, stream, isRead }: OpenContent,
): Promise<Reply<Readable>> {
  const { id, task_id: taskId, run_id: runId, workspace_id: workspaceId } = artifact;
  requireStored(await getArtifactRow(context, id));
  const [sha256, sizeBytes] = [artifact.sha256 as string, artifact.size_bytes as number];
  if (isRead)
    emit(
      context,
      artifactContentRead,
      { entityId: id, workspaceId },
      { artifactId: id, taskId, forTaskId, runId, sha256, sizeBytes },
    );
  return reply(200, stream, {
    'content-type': artifact.media_type as string,
    'content-length': String(sizeBytes),
    'content-disposition': contentDisposition(artifact.name, artifact.media_type as string),
    etag: `"sha256:${sha256}"`,
    'x-content-type-options': 'nosniff',
    'content-security-policy': "sandbox; default-src 'none'",
    'cache-control': 'private, no-store',
  });
}
