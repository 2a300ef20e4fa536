import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import type { Lifecycle } from '../../definitions/task-types/lifecycle.ts';
import { claimMovesOf } from '../../definitions/task-types/lifecycle-grammar.ts';
import { systemLifecycle } from '../../definitions/task-types/system-type.ts';
import type { StoredExecution } from '../../definitions/task-types/type-documents.ts';
import type { TestCoordination } from '../coordination.ts';

export interface TestType {
  key: string;
  version?: number;
  status?: 'active' | 'deprecated';
  fieldSchema?: object;
  lifecycle?: Lifecycle;
  acceptance?: object[];
  artifactSchema?: object;
  execution?: Partial<StoredExecution>;
  approvalSchema?: object;
  completionSchema?: object;
  tenantId?: string;
}

/** Inserts a task type without validation, even one that every endpoint would refuse. @returns its id */
export async function insertTestType(baton: TestCoordination, type: TestType): Promise<string> {
  const id = newId();
  const tenantId = type.tenantId ?? baton.tenantId;
  const author = tenantId === baton.tenantId ? baton.admin : baton.otherAdmin;
  const lifecycle = type.lifecycle ?? systemLifecycle;
  const { claimStatus, claimCategory, claimFrom, releaseStatus, releaseCategory, claimableBlocked } =
    claimMovesOf(lifecycle);
  const { retry, startDateHolds = false } = type.execution ?? {};
  await baton.pool.run(sql`
    insert into task_types (id, tenant_id, key, version, display_name, field_schema, lifecycle_schema, claim_status,
      claim_category, claim_from, release_status, release_category, claimable_blocked, acceptance, artifact_schema,
      approval_schema, completion_schema, execution, attempts_max, holds_start, status, created_by)
    values (${id}, ${tenantId}, ${type.key}, ${type.version ?? 1}, ${type.key}, ${JSON.stringify(type.fieldSchema ?? {})},
      ${JSON.stringify(lifecycle)}, ${claimStatus}, ${claimCategory}, ${claimFrom}, ${releaseStatus},
      ${releaseCategory}, ${claimableBlocked}, ${JSON.stringify(type.acceptance ?? [])}, ${JSON.stringify(type.artifactSchema ?? {})},
      ${JSON.stringify(type.approvalSchema ?? {})}, ${JSON.stringify(type.completionSchema ?? {})},
      ${type.execution === undefined ? null : JSON.stringify(type.execution)}, ${retry?.maxAttempts ?? null}, ${startDateHolds},
      ${type.status ?? 'active'}, ${author.principalId})`);
  return id;
}
