import { type Answer, type Reply, reply, type Surroundings } from '@baton/kernel/http/service';
import { newId } from '@baton/values/ids';
import type { ContentFacts, ContentName, ContentStore } from '../content-store.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import {
  type ArtifactUpload,
  contentRefOf,
  type UploadedContentRow,
  uploadIdOf,
  type WrittenContent,
} from './content.ts';
import {
  insertContent,
  insertUpload,
  lockDigest,
  lockStoredContent,
  lockUploadedContent,
  updateContentToStored,
} from './contents.sql.ts';
import { discardUnowned } from './discard-contents.ts';
import { requireAvailable, requireStore, transfers } from './transfers.ts';

/**
 * Writes the bytes of a request to the store, then runs the command that records them as an upload. No database
 * connection is held while bytes arrive. Bytes that no upload needs afterwards (already stored, a replayed request, or
 * a failure) are removed.
 * @throws Refusal `content_store_unavailable`, `request_too_large`, `unavailable` when too many transfers run
 */
export async function receiveContent({
  incoming,
  context,
  command,
}: Surroundings<WrittenContent, Context>): Promise<Answer> {
  const store = requireStore(context);
  return transfers.run(context, async () => {
    const name = { tenantId: context.tenantId, id: newId() };
    await context.db.run(insertContent(name));
    try {
      const facts = await write(context, store, name, incoming.read());
      const { mediaType } = incoming;
      return await command({ ...facts, mediaType, contentId: name.id }, { mediaType, sha256: facts.sha256 });
    } finally {
      await discardUnowned(context, store, name);
    }
  });
}

function write(
  context: Context,
  store: ContentStore,
  name: ContentName,
  bytes: AsyncIterable<Buffer>,
): Promise<ContentFacts> {
  return requireAvailable(context, () => store.write(name, bytes));
}

/**
 * Records stored bytes as an upload of the caller. A tenant stores equal bytes only once: if they already exist, the
 * new ones are left for removal. See docs/reference/artifacts.md#upload.
 * @throws Refusal `content_store_unavailable` if the bytes have been discarded in the meantime
 */
export async function createUpload(
  context: Context,
  { contentId, mediaType, sha256, sizeBytes }: WrittenContent,
): Promise<Reply<ArtifactUpload>> {
  const { db, tenantId, caller, settings } = context;
  await db.run(lockDigest(tenantId, sha256));
  const kept =
    (await db.row(lockStoredContent(tenantId, sha256))) ??
    (await db.row(updateContentToStored({ tenantId, id: contentId }, sha256, sizeBytes))) ??
    fail('content_store_unavailable');
  const id = newId();
  const row = await db.row(
    insertUpload({
      id,
      tenantId,
      contentId: kept.id,
      createdBy: caller.principalId,
      mediaType,
      ttlSeconds: settings.CP_ARTIFACT_UPLOAD_TTL_SECONDS,
    }),
  );
  const { expires_at: expiresAt } = row as NonNullable<typeof row>;
  return reply(201, { contentRef: contentRefOf(id), sizeBytes, mediaType, sha256, expiresAt });
}

/**
 * The bytes of a reference, locked until the commit. Unknown, foreign and expired references are indistinguishable.
 * @throws Refusal `content_ref_not_found`
 */
export async function recordUpload(
  { db, tenantId, caller }: Context,
  contentRef: string,
): Promise<UploadedContentRow> {
  const uploadId = uploadIdOf(contentRef);
  if (uploadId === undefined) return fail('content_ref_not_found');
  const row = await db.row(lockUploadedContent(tenantId, caller.principalId, uploadId));
  return row ?? fail('content_ref_not_found');
}
