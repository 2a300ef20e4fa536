import { z } from 'zod';
import { type RowOf, wireMapper } from '@baton/kernel/database/row';
import { Description, DisplayName, TypeKey } from '@baton/values/keys';
import { FreeObject, type JsonObject, Timestamp, Uuid } from '@baton/values/wire';
import { PackageLink } from '../../organisation/package-link.ts';
import { documentBytesMax } from '../../service/documents.ts';
import type { Tables } from '../../service/schema.ts';
import { AcceptanceCheck, acceptanceChecksMax } from '../acceptance/acceptance.ts';
import { describeOnly } from '../acceptance/parsed-document.ts';
import { Lifecycle, LifecycleInput } from './lifecycle.ts';
import { ArtifactSchema, ContextSchema, Execution, type Retry } from './type-documents.ts';

export const taskTypeStatuses = ['active', 'deprecated'] as const;

/**
 * A kind of task: its statuses, its fields, its inputs and outputs (docs/reference/definitions.md#task-type-versions).
 */
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
    package: PackageLink.nullable(),
  })
  .meta({ id: 'TaskType' });
export type TaskType = z.infer<typeof TaskType>;

/** An artifact that tasks of the type produce (docs/reference/definitions.md#inputs-and-outputs). */
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
    package: PackageLink | null;
    field_schema: JsonObject;
    lifecycle_schema: Lifecycle;
    execution: (JsonObject & { retry?: Retry }) | null;
    approval_schema: JsonObject;
    context_schema: JsonObject;
    completion_schema: JsonObject;
    artifact_schema: JsonObject & { inputs?: JsonObject[]; outputs?: TypeOutput[] };
    acceptance: (JsonObject & AcceptanceCheck)[];
  }
>;

export const taskTypeOf = wireMapper<TaskTypeRow>()(TaskType, {});

export const instructionsBytesMax = 16_384;

/**
 * Documents that the command validates instead of the body's schema, so that a 422 with their own code can describe the
 * error.
 */
const document = z.unknown().meta({ type: 'object', 'x-maxBytes': documentBytesMax });

export const NewTaskType = z
  .strictObject({
    key: TypeKey,
    displayName: DisplayName,
    description: Description.default(''),
    fieldSchema: document.default({}),
    lifecycleSchema: describeOnly(LifecycleInput).optional(),
    execution: describeOnly(Execution).optional(),
    approvalSchema: document.default({}),
    contextSchema: describeOnly(ContextSchema).default({}),
    completionSchema: document.default({}),
    artifactSchema: describeOnly(ArtifactSchema).default({}),
    instructions: z
      .string()
      .max(2 * instructionsBytesMax)
      .default('')
      .meta({ description: `Markdown for the executor of a task; at most ${instructionsBytesMax} bytes.` }),
    acceptance: z.array(describeOnly(AcceptanceCheck)).max(acceptanceChecksMax).default([]),
  })
  .meta({ id: 'NewTaskType' });
export type NewTaskType = z.output<typeof NewTaskType>;
