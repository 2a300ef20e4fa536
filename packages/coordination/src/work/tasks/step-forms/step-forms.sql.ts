import { sql } from '@baton/kernel/database/sql';
import type { JsonObject } from '@baton/values/wire';
import { processStepName } from './step-name.ts';

export interface StepNameRow {
  id: string;
  external_id: string;
  metadata: JsonObject;
}

/** The name that a process gave the task of its step, with the form in its metadata. */
export function findStepName(tenantId: string, taskId: string) {
  const { externalSystem, externalType } = processStepName;
  return sql<StepNameRow>`
    select id, external_id, metadata from external_references
    where tenant_id = ${tenantId} and entity_type = 'task' and entity_id = ${taskId}
      and external_system = ${externalSystem} and external_type = ${externalType}
    order by created_at desc, id desc limit 1`;
}
