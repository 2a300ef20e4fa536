import { sql } from '@baton/kernel/sql';

export interface ArtifactOfSubject {
  readonly id: string;
  readonly type: string;
  readonly name: string;
  /** Of its stored bytes, in hex; null where it has none. */
  readonly sha256: string | null;
}

export function findArtifactsOfSubjects(tenantId: string, ids: readonly string[]) {
  return sql<ArtifactOfSubject>`
    select id, type, name, sha256 from artifacts where id = any (${ids}::uuid[]) and tenant_id = ${tenantId}`;
}
