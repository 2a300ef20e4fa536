import { z } from 'zod';
import { type RowOf, wireMapper } from '@baton/kernel/database/row';
import {
  FreeObject,
  InstantInput,
  type JsonObject,
  pageOf,
  queryWordCharactersMax,
  Timestamp,
  Uuid,
} from '@baton/values/wire';
import { acceptanceChecksMax, SentCheck, TaskCheck } from '../../definitions/acceptance/acceptance.ts';
import { withoutAuthor } from '../../definitions/acceptance/author.ts';
import { Evidence, evidenceItemsMax, type TaskEvidence } from '../../definitions/acceptance/evidence.ts';
import { Origin } from '../../definitions/acceptance/origin.ts';
import { describeOnly } from '../../definitions/acceptance/parsed-document.ts';
import { statusCategories } from '../../definitions/task-types/lifecycle.ts';
import { documentBytesMax } from '../../service/documents.ts';
import type { Tables } from '../../service/schema.ts';
import { TaskVerificationSummary } from '../verifications/attempt.ts';
import { RequirementsInput } from './requirements.ts';
import { TaskRef } from './task-ref.ts';

/** The order in which work is done; a row stores the index. */
export const priorities = ['critical', 'high', 'medium', 'low'] as const;
export type Priority = (typeof priorities)[number];

/** A task (docs/reference/tasks.md). */
export const Task = z
  .strictObject({
    id: Uuid,
    tenantId: Uuid,
    publicId: z.string(),
    workspaceId: Uuid.nullable(),
    projectId: Uuid.nullable(),
    typeId: Uuid,
    typeKey: z.string(),
    typeVersion: z.int(),
    title: z.string(),
    description: z.string(),
    status: z.string(),
    systemStatusCategory: z.enum(statusCategories),
    priority: z.enum(priorities),
    ownerId: Uuid.nullable(),
    assigneeId: Uuid.nullable(),
    customFields: FreeObject,
    startDate: Timestamp.nullable(),
    dueDate: Timestamp.nullable(),
    goalId: Uuid.nullable(),
    origin: Origin,
    acceptance: z.array(TaskCheck),
    acceptanceChecks: z.int(),
    evidence: z.array(Evidence),
    version: z.int(),
    claimEpoch: z.int(),
    activeClaimId: Uuid.nullable(),
    createdBy: Uuid,
    createdAt: Timestamp,
    updatedAt: Timestamp,
    completedAt: Timestamp.nullable(),
    availableAt: Timestamp.nullable().meta({
      description:
        "The task can't be claimed before this time, which is its start or the end of its pause after failed attempts.",
    }),
    verification: TaskVerificationSummary.nullable(),
  })
  .meta({ id: 'Task' });
export type Task = z.infer<typeof Task>;

export const TaskPage = pageOf(Task);

/** Half of the maximum size of a body. */
const descriptionCharactersMax = 524_288;

const title = z.string().min(1).max(500);
const status = z.string().min(1).max(64);
const description = z.string().max(descriptionCharactersMax);
/** The longest accepted string; values that aren't priorities are refused with a code of their own. */
const priority = z.string().max(queryWordCharactersMax);
/**
 * The body's schema accepts any document: the operation validates it, so that 422 `invalid_document` can describe the
 * error.
 */
const customFields = z.unknown().meta({ type: 'object', 'x-maxBytes': documentBytesMax });
const assigneeId = z
  .union([Uuid, z.string().regex(/^agent:.{1,200}$/)], 'must be a UUID or agent:<key>')
  .meta({ description: 'A principal, or `agent:<key>` for a registered agent.' });
const acceptance = z.array(describeOnly(SentCheck)).max(acceptanceChecksMax);
const evidence = z.array(describeOnly(Evidence)).max(evidenceItemsMax);

export const NewTask = z
  .strictObject({
    title,
    description: description.default(''),
    priority: priority.default('medium'),
    status: status.nullish(),
    typeId: Uuid.nullish(),
    typeKey: z.string().min(1).max(63).nullish(),
    typeVersion: z.int().min(1).max(2_147_483_647).nullish(),
    ownerId: Uuid.nullish(),
    assigneeId: assigneeId.nullish(),
    workspaceId: Uuid.nullish(),
    customFields: customFields.default({}),
    startDate: InstantInput.nullish(),
    dueDate: InstantInput.nullish(),
    parentTask: TaskRef.nullish(),
    requirements: RequirementsInput.nullish(),
    goalId: Uuid.nullish(),
    origin: describeOnly(Origin).nullish(),
    acceptance: acceptance.default([]),
    evidence: evidence.default([]),
  })
  .meta({ id: 'NewTask' });
export type NewTask = z.output<typeof NewTask>;

/**
 * `origin`, the type and the category can't be changed by this call, so here they are unknown fields.
 */
export const TaskChange = z
  .strictObject({
    title: title.nullish(),
    description: description.nullish(),
    priority: priority.nullish(),
    status: status.nullish(),
    ownerId: Uuid.nullish(),
    assigneeId: assigneeId.nullish(),
    workspaceId: Uuid.nullish(),
    customFields: customFields.optional(),
    startDate: InstantInput.nullish(),
    dueDate: InstantInput.nullish(),
    requirements: RequirementsInput.nullish(),
    goalId: Uuid.nullish(),
    acceptance: acceptance.nullish(),
    evidence: evidence.nullish(),
    claimId: Uuid.nullish(),
    fencingToken: z.int().nullish(),
  })
  .meta({ id: 'TaskChange' });
export type TaskChange = z.output<typeof TaskChange>;

/** A row of `tasks` with the key and version of its type, and the project of its workspace. */
export type TaskRow = RowOf<
  Tables['tasks'],
  {
    custom_fields: JsonObject;
    origin: Origin;
    acceptance: TaskCheck[];
    evidence: TaskEvidence[];
    requirement_authors: Record<string, string>;
    verification: TaskVerificationSummary | null;
  }
> & { type_key: string; type_version: number; project_id: string | null };

export const taskOf = wireMapper<TaskRow>()(Task, {
  systemStatusCategory: ({ category }) => category,
  priority: ({ priority }) => priorities[priority] as Priority,
  acceptance: ({ acceptance: checks }) =>
    checks.map((check) => ({ ...check, addedByPrincipalId: check.addedByPrincipalId ?? null })),
  acceptanceChecks: ({ acceptance: checks }) => checks.length,
  evidence: ({ evidence: items }) => items.map(withoutAuthor) as Evidence[],
});
