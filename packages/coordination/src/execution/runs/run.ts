import { z } from 'zod';
import { wireMapper } from '@baton/kernel/database/row';
import { FreeObject, freeObjectOf, Timestamp, Uuid } from '@baton/values/wire';
import type { RunRow } from '../../leases/lease-rows.ts';
import { documentBytesMax } from '../../service/documents.ts';
import { Task } from '../../work/tasks/task.ts';
import { CurrencyCode, Usage, usageOf } from '../usage/usage.ts';

export const runStatuses = ['running', 'succeeded', 'failed', 'cancelled', 'suspended'] as const;

/** One attempt to execute a task (docs/reference/runs.md). */
export const Run = z
  .strictObject({
    id: Uuid,
    tenantId: Uuid,
    taskId: Uuid,
    claimId: Uuid,
    principalId: Uuid,
    sessionId: Uuid,
    fencingToken: z.int().positive(),
    attempt: z.int().positive(),
    status: z.enum(runStatuses),
    startedAt: Timestamp,
    finishedAt: Timestamp.nullable(),
    input: FreeObject.nullable(),
    output: FreeObject.nullable(),
    failureReason: z.string().nullable(),
    cancelRequestedAt: Timestamp.nullable(),
    cancelRequestedBy: Uuid.nullable(),
    maxDurationSeconds: z.int().nullable(),
    maxActions: z.int().nullable(),
    maxTokens: z.int().nullable(),
    maxCostMicros: z.int().nullable(),
    currency: z.string().nullable(),
    usage: Usage,
    lastProgressAt: Timestamp,
    /** The run is running but its claim has ended: writes are refused, but its executor can still end it. */
    orphaned: z.boolean(),
    metadata: FreeObject,
    instructionsHash: z.string().nullable(),
    instructionsRefs: z.array(z.string()).nullable(),
    agentRevisionId: Uuid.nullable(),
    version: z.int().positive(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  })
  .meta({ id: 'Run' });
export type Run = z.infer<typeof Run>;

/** A succeeded run and the resulting state of its task. */
export const SucceededRun = z.strictObject({ run: Run, task: Task }).meta({ id: 'SucceededRun' });
export type SucceededRun = z.infer<typeof SucceededRun>;

const Budget = z.int().positive().nullish();

export const RunRequest = z
  .strictObject({
    claimId: Uuid,
    fencingToken: z.int(),
    input: freeObjectOf(documentBytesMax).nullish(),
    metadata: freeObjectOf(documentBytesMax).default({}),
    maxDurationSeconds: Budget,
    maxActions: Budget,
    maxTokens: Budget,
    maxCostMicros: Budget,
    currency: CurrencyCode.nullish(),
    agentRevisionId: Uuid.nullish(),
  })
  .meta({ id: 'RunRequest' });
export type RunRequest = z.output<typeof RunRequest>;

/** A run as it is read. Statements that start or end runs can omit `orphaned`, which is then false. */
type ReadRunRow = RunRow & { orphaned?: boolean };

export const runOf = wireMapper<ReadRunRow>()(Run, {
  usage: usageOf,
  orphaned: ({ orphaned }) => orphaned === true,
});
