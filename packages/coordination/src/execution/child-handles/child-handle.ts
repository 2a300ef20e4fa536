import { z } from 'zod';
import { wireMapper } from '@baton/kernel/database/row';
import { FreeObject, queryWordCharactersMax, Timestamp, Uuid } from '@baton/values/wire';
import type { ChildHandleRow } from '../../leases/children/child-handle-row.ts';
import { NewTask, Task } from '../../work/tasks/task.ts';
import { runStatuses } from '../runs/run.ts';

export const cancellationPolicies = ['cascade_cooperative', 'detach'] as const;
export const childStatuses = ['pending', ...runStatuses, 'revoked', 'expired'] as const;

/** The upper bound of a child's rights. */
export const ChildGrant = z
  .strictObject({
    permissions: z.array(z.string()),
    capabilities: z.array(z.string()),
    skills: z.array(z.string()),
  })
  .meta({ id: 'ChildGrant' });

/** The result that a child returns to its parent when it ends; written once. */
export const ChildResult = z
  .strictObject({
    outcome: z.enum(['succeeded', 'failed', 'cancelled']),
    summary: z.string(),
    data: FreeObject,
    artifactRefs: z.array(Uuid),
    resultHash: z.string(),
    recordedAt: Timestamp,
  })
  .meta({ id: 'ChildResult' });

/**
 * Links a run to a task that it launched and to the run of that task
 * (docs/reference/actions-and-usage.md#child-handles).
 */
export const ChildHandle = z
  .strictObject({
    id: Uuid,
    tenantId: Uuid,
    parentRunId: Uuid,
    parentTaskId: Uuid,
    childTaskId: Uuid,
    childTaskPublicId: z.string(),
    childRunId: Uuid.nullable(),
    correlationId: z.string(),
    grant: ChildGrant,
    cancellationPolicy: z.enum(cancellationPolicies),
    depth: z.int().positive(),
    handleVersion: z.int().positive(),
    status: z.enum(childStatuses),
    expiresAt: Timestamp,
    revokedAt: Timestamp.nullable(),
    revokeReason: z.string().nullable(),
    createdAt: Timestamp,
    result: ChildResult.nullable(),
  })
  .meta({ id: 'ChildHandle' });
export type ChildHandle = z.infer<typeof ChildHandle>;

export const ChildHandlePage = z
  .strictObject({ items: z.array(ChildHandle), nextCursor: z.string().nullable(), hasMore: z.boolean() })
  .meta({ id: 'ChildHandlePage' });
export type ChildHandlePage = z.infer<typeof ChildHandlePage>;

/** `handleToken` is shown once. It identifies the handle and grants no rights. */
export const LaunchedChild = z
  .strictObject({ childHandle: ChildHandle, childTask: Task, handleToken: z.string().nullable() })
  .meta({ id: 'LaunchedChild' });
export type LaunchedChild = z.infer<typeof LaunchedChild>;

const word = z.string().max(queryWordCharactersMax);
/**
 * A schema limit far above the allowed number of rights. A list between the two limits is refused with its own code.
 */
const names = z.array(word).max(1000).nullish();

const { title, description, priority, workspaceId, ownerId, assigneeId } = NewTask.shape;

export const NewChild = z
  .strictObject({
    correlationId: word.meta({
      description: 'Unique within the run: a repeated launch returns the first child.',
    }),
    title,
    description,
    priority,
    workspaceId,
    ownerId,
    assigneeId,
    grant: z
      .strictObject({ permissions: names, capabilities: names, skills: names })
      .meta({ id: 'ChildGrantRequest', description: 'Omitted kinds are inherited; `[]` grants no rights.' })
      .nullish(),
    cancellationPolicy: word.default('cascade_cooperative'),
    expiresInSeconds: z.int().default(604_800),
  })
  .meta({ id: 'NewChild' });
export type NewChild = z.output<typeof NewChild>;

/** A handle with the state derived from its child's task and run. */
export type ChildHandleViewRow = ChildHandleRow & {
  child_task_public_id: string;
  status: (typeof childStatuses)[number];
};

export const childHandleOf = wireMapper<ChildHandleViewRow>()(ChildHandle, {
  grant: ({ permissions, capabilities, skills }) => ({ permissions, capabilities, skills }),
  result: (row) =>
    row.outcome === null
      ? null
      : {
          outcome: row.outcome,
          summary: row.summary as string,
          data: row.data ?? {},
          artifactRefs: row.artifact_refs as string[],
          resultHash: row.result_hash as string,
          recordedAt: row.recorded_at as string,
        },
});
