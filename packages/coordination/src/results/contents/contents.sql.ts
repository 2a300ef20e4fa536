import { sql } from '@baton/kernel/database/sql';
import type { ContentName } from '../content-store.ts';
import type { UploadedContentRow } from './content.ts';

/** The row remains after a crash, so that the sweep finds the object: every object has a row. */
export function insertContent({ id, tenantId }: ContentName) {
  return sql`insert into artifact_contents (id, tenant_id) values (${id}, ${tenantId})`;
}

/** Serializes uploads of the same bytes until the commit, because each one checks whether they are already stored. */
export function lockDigest(tenantId: string, sha256: string) {
  return sql`select pg_advisory_xact_lock(hashtextextended(${`artifact_contents/${tenantId}/${sha256}`}, 0))`;
}

/** The tenant's object with these bytes, locked until the commit. An object whose deletion has begun is not found. */
export function lockStoredContent(tenantId: string, sha256: string) {
  return sql<{ id: string }>`
    select id from artifact_contents
    where tenant_id = ${tenantId} and sha256 = ${sha256} and state = 'stored'
    for key share`;
}

/** Returns no row if the object has been discarded in the meantime because its upload took too long. */
export function updateContentToStored({ id, tenantId }: ContentName, sha256: string, sizeBytes: number) {
  return sql<{ id: string }>`
    update artifact_contents
    set state = 'stored', state_since = clock_timestamp(), sha256 = ${sha256}, size_bytes = ${sizeBytes}
    where id = ${id} and tenant_id = ${tenantId} and state = 'writing'
    returning id`;
}

export function insertUpload(upload: {
  id: string;
  tenantId: string;
  contentId: string;
  createdBy: string;
  mediaType: string;
  ttlSeconds: number;
}) {
  return sql<{ expires_at: string }>`
    insert into artifact_uploads (id, tenant_id, content_id, created_by, media_type, expires_at)
    values (${upload.id}, ${upload.tenantId}, ${upload.contentId}, ${upload.createdBy}, ${upload.mediaType},
      clock_timestamp() + make_interval(secs => ${upload.ttlSeconds}))
    returning expires_at`;
}

/**
 * The bytes of a live upload of this principal, locked until the commit. The state is checked again after a wait for
 * the row, so bytes whose deletion has begun are not found.
 */
export function lockUploadedContent(tenantId: string, principalId: string, uploadId: string) {
  return sql<UploadedContentRow>`
    select c.id as content_id, u.media_type, c.sha256, c.size_bytes
    from artifact_uploads u join artifact_contents c on c.id = u.content_id
    where u.id = ${uploadId} and u.tenant_id = ${tenantId} and u.created_by = ${principalId}
      and u.expires_at > clock_timestamp() and c.state = 'stored'
    for key share of c`;
}

/** Discards an object whose upload did not finish. Returns no row if an upload or artifact refers to it. */
export function updateWritingToDoomed({ id, tenantId }: ContentName) {
  return sql<{ id: string }>`
    update artifact_contents set state = 'doomed', state_since = clock_timestamp()
    where id = ${id} and tenant_id = ${tenantId} and state = 'writing'
    returning id`;
}

/** Locks a stored object against new references. */
export function lockContentRow({ id, tenantId }: ContentName) {
  return sql`select from artifact_contents where id = ${id} and tenant_id = ${tenantId} for update`;
}

/**
 * Discards the locked objects that nothing references. It is a separate statement, so that it sees everything that was
 * committed before the locks were taken.
 */
export function updateUnreferencedToDoomed(contentIds: readonly string[]) {
  return sql<{ id: string; tenant_id: string }>`
    update artifact_contents c set state = 'doomed', state_since = clock_timestamp()
    where c.id = any (${contentIds}::uuid[]) and c.state = 'stored'
      and not exists (select from artifact_uploads u where u.content_id = c.id)
      and not exists (select from artifacts a where a.content_id = c.id)
    returning c.id, c.tenant_id`;
}

/** Deletes the row of an object that was removed from the store. */
export function deleteContent({ id, tenantId }: ContentName) {
  return sql`delete from artifact_contents where id = ${id} and tenant_id = ${tenantId} and state = 'doomed'`;
}

/** Expired uploads. */
export function findExpiredUploads(except: readonly string[], batchMax: number) {
  return sql<{ id: string }>`
    select id from artifact_uploads
    where expires_at <= clock_timestamp() and not id = any (${except}::uuid[])
    order by expires_at, id
    limit ${batchMax}`;
}

/** Locks uploads together with their objects; skips locked ones. */
export function lockUploads(ids: readonly string[]) {
  return sql<{ id: string; content_id: string }>`
    select u.id, u.content_id from artifact_uploads u join artifact_contents c on c.id = u.content_id
    where u.id = any (${ids}::uuid[])
    order by u.id
    for update of u, c skip locked`;
}

export function deleteUploads(ids: readonly string[]) {
  return sql`delete from artifact_uploads where id = any (${ids}::uuid[])`;
}

/** Objects whose bytes are to be deleted, and those whose upload has exceeded the maximum duration. */
export function findContentsToDelete(writingSecondsMax: number, except: readonly string[], batchMax: number) {
  return sql<{ id: string; tenant_id: string; state: string }>`
    select id, tenant_id, state from artifact_contents
    where state <> 'stored' and not id = any (${except}::uuid[])
      and (state = 'doomed' or state_since <= clock_timestamp() - make_interval(secs => ${writingSecondsMax}))
    order by state_since, id
    limit ${batchMax}`;
}
