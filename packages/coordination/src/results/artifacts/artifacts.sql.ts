import { queryBuilder } from '@baton/kernel/database/db';
import { condition, type ListOrder, matching } from '@baton/kernel/database/list';
import { sql } from '@baton/kernel/database/sql';
import { type SeenList, seenByTaskOrPlace } from '../../service/sight/places.ts';
import type { ArtifactRow } from './artifact.ts';

export function findArtifact(tenantId: string, id: string) {
  return sql<ArtifactRow>`select * from artifacts where id = ${id} and tenant_id = ${tenantId}`;
}

/** Whether an artifact is one of the current inputs of a task. */
export function isInputOf(artifactId: string, taskId: string) {
  return sql<{ found: boolean }>`
    select exists (select from task_inputs(${taskId}) i where i.artifact_id = ${artifactId}) as found`;
}

/** Locks the record against another purge. */
export function lockArtifact(tenantId: string, id: string) {
  return sql<ArtifactRow>`select * from artifacts where id = ${id} and tenant_id = ${tenantId} for no key update`;
}

export function updateArtifactToPurged(tenantId: string, id: string) {
  return sql<ArtifactRow>`
    update artifacts set content_state = 'purged', content_id = null
    where id = ${id} and tenant_id = ${tenantId}
    returning *`;
}

/** The fields of a new record that have no default. */
export type NewArtifactValues = Omit<ArtifactRow, 'created_at' | 'content_state'>;

export function insertArtifact(values: NewArtifactValues) {
  return sql<ArtifactRow>`
    insert into artifacts (id, tenant_id, created_by, workspace_id, task_id, run_id, type, type_version, name, uri,
      content, metadata, supersedes_artifact_id, content_state, content_id, size_bytes, media_type, sha256)
    values (${values.id}, ${values.tenant_id}, ${values.created_by}, ${values.workspace_id}, ${values.task_id},
      ${values.run_id}, ${values.type}, ${values.type_version}, ${values.name}, ${values.uri},
      ${values.content === null ? null : JSON.stringify(values.content)}, ${JSON.stringify(values.metadata)},
      ${values.supersedes_artifact_id}, ${values.content_id === null ? 'none' : 'stored'}, ${values.content_id},
      ${values.size_bytes}, ${values.media_type}, ${values.sha256})
    returning *`;
}

const build = queryBuilder<{ artifacts: ArtifactRow }>();

const newestFirst: ListOrder<ArtifactRow> = {
  cursor: 'artifacts',
  columns: { created_at: 'timestamp', id: 'uuid' },
  direction: 'desc',
};

export type ArtifactFilter = {
  readonly [Column in 'task_id' | 'run_id' | 'workspace_id' | 'type']: string | undefined;
};

export function listOfArtifacts(tenantId: string, filter: ArtifactFilter): SeenList<ArtifactRow> {
  const foundIn = (source: 'artifacts') =>
    matching(build.selectFrom(source).selectAll().where('tenant_id', '=', tenantId), filter);
  const ofTask = condition`tenant_id = ${tenantId} and task_id = owner.id`;
  return seenByTaskOrPlace(tenantId, 'artifacts', foundIn, newestFirst, ofTask);
}
