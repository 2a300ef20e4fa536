import { sql } from '@baton/kernel/database/sql';
import type { AttemptCheck } from '../verifications/attempt.ts';

export interface ArtifactOfSubject {
  readonly id: string;
  readonly type: string;
  readonly name: string;
  /** Hash of its stored bytes, in hex; null if it has none. */
  readonly sha256: string | null;
}

export function findArtifactsOfSubjects(tenantId: string, ids: readonly string[]) {
  return sql<ArtifactOfSubject>`
    select id, type, name, sha256 from artifacts where id = any (${ids}::uuid[]) and tenant_id = ${tenantId}`;
}

/**
 * The checks of an attempt that people and skills evaluate, in order. Other checks don't affect the approved subject.
 */
export function findEvaluatedChecks(tenantId: string, verificationId: string) {
  return sql<{ checks: AttemptCheck[] }>`
    select coalesce((
      select jsonb_agg(c order by n) from jsonb_array_elements(v.checks) with ordinality as item (c, n)
      where c ->> 'kind' in ('human', 'llm_judge') or c -> 'spec' ->> 'skill' is not null), '[]') as checks
    from verifications v where v.id = ${verificationId} and v.tenant_id = ${tenantId}`;
}
