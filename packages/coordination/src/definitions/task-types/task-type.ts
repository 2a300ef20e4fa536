import { z } from 'zod';
import { type RowOf, wireMapper } from '@baton/kernel/row';
import { FreeObject, type JsonObject, Timestamp, Uuid } from '@baton/kernel/wire';
import type { Tables } from '../../service/schema.ts';
import type { AcceptanceCheck } from '../acceptance/acceptance.ts';
import { Lifecycle } from './lifecycle.ts';

export const taskTypeStatuses = ['active', 'deprecated'] as const;

/** What a kind of task is: its statuses, its fields, what its tasks take and bring (core, section 7.1). */
export const TaskType = z
  .strictObject({
    id: Uuid,
    tenantId: Uuid,
    key: z.string(),
    version: z.int(),
    displayName: z.string(),
    description: z.string(),
    fieldSchema: FreeObject,
    lifecycleSchema: Lifecycle,
    execution: FreeObject.nullable(),
    approvalSchema: FreeObject,
    contextSchema: FreeObject,
    completionSchema: FreeObject,
    artifactSchema: FreeObject,
    instructions: z.string(),
    acceptance: z.array(FreeObject),
    status: z.enum(taskTypeStatuses),
    createdBy: Uuid,
    createdAt: Timestamp,
    updatedAt: Timestamp,
  })
  .meta({ id: 'TaskType' });
export type TaskType = z.infer<typeof TaskType>;

/** An artifact that tasks of the type bring (core, section 7.4). */
export interface TypeOutput {
  readonly key: string;
  readonly type: string;
  readonly required?: boolean;
  readonly mediaTypes?: readonly string[];
  readonly content?: 'required' | 'optional';
}

export type TaskTypeRow = RowOf<
  Tables['task_types'],
  {
    field_schema: JsonObject;
    lifecycle_schema: Lifecycle;
    execution: JsonObject | null;
    approval_schema: JsonObject;
    context_schema: JsonObject;
    completion_schema: JsonObject;
    artifact_schema: JsonObject & { outputs?: TypeOutput[] };
    acceptance: (JsonObject & AcceptanceCheck)[];
  }
>;

export const taskTypeOf = wireMapper<TaskTypeRow>()(TaskType, {});
