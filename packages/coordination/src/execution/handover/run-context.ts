import { z } from 'zod';
import { timestampText } from '@baton/kernel/database/db';
import { Timestamp, Uuid } from '@baton/values/wire';
import { TaskRequirements } from '../../work/readiness/task-readiness.ts';
import { TaskRelation } from '../../work/relations/task-relation.ts';
import { priorities, Task } from '../../work/tasks/task.ts';
import { Checkpoint } from '../checkpoints/checkpoint.ts';
import { ChildHandle } from '../child-handles/child-handle.ts';
import { Claim } from '../claims/claim.ts';
import { ControlMessage } from '../control-messages/control-message.ts';
import { Run } from '../runs/run.ts';

const ContextRun = Run.pick({
  id: true,
  taskId: true,
  claimId: true,
  status: true,
  attempt: true,
  fencingToken: true,
  input: true,
  maxDurationSeconds: true,
  maxActions: true,
  cancelRequestedAt: true,
  startedAt: true,
  instructionsHash: true,
  instructionsRefs: true,
}).meta({ id: 'ContextRun' });

const ContextTask = Task.pick({
  id: true,
  publicId: true,
  title: true,
  description: true,
  status: true,
  priority: true,
  workspaceId: true,
  version: true,
  claimEpoch: true,
}).meta({ id: 'ContextTask' });

const ContextClaim = Claim.pick({
  id: true,
  status: true,
  fencingToken: true,
  expiresAt: true,
  sessionId: true,
}).meta({ id: 'ContextClaim' });

/** An artifact without its documents, which `GET /artifacts/{id}` returns. */
export const ContextArtifact = z
  .strictObject({
    id: Uuid,
    type: z.string(),
    name: z.string(),
    runId: Uuid.nullable(),
    uri: z.string().nullable(),
    contentState: z.string(),
    mediaType: z.string().nullable(),
    sizeBytes: z.int().nullable(),
    supersedesArtifactId: Uuid.nullable(),
    createdAt: Timestamp,
  })
  .meta({ id: 'ContextArtifact' });

const ContextApproval = z
  .strictObject({
    id: Uuid,
    gate: z.boolean(),
    requiredRoleId: Uuid.nullable(),
    assignedPrincipalId: Uuid.nullable(),
    requestedByPrincipalId: Uuid,
    comment: z.string(),
    createdAt: Timestamp,
  })
  .meta({ id: 'ContextApproval' });

/**
 * The inputs that the task's type takes from other tasks, newest first: for each of the newest 50 of those tasks, the
 * artifact that is passed on; null if there is none, or none that the caller can see.
 */
export const ContextInput = z
  .strictObject({
    key: z.string(),
    type: z.string(),
    from: z.string(),
    required: z.boolean(),
    artifactId: Uuid.nullable(),
  })
  .meta({ id: 'ContextInput' });

const Instructions = z
  .strictObject({
    layers: z.array(
      z.strictObject({ source: z.literal('taskType'), ref: z.string(), version: z.int(), text: z.string() }),
    ),
    hash: z.string().nullable(),
  })
  .meta({ id: 'Instructions' });

/** The full context of a run, for its executor or its successor (docs/reference/runs.md#context). */
export const RunContext = z
  .strictObject({
    run: ContextRun,
    instructions: Instructions,
    task: ContextTask,
    workspace: z.strictObject({ id: Uuid, slug: z.string(), name: z.string() }).nullable(),
    claim: ContextClaim.nullable(),
    requirements: TaskRequirements,
    relations: z.array(TaskRelation),
    inputs: z.array(ContextInput),
    artifacts: z.array(ContextArtifact),
    approvals: z.array(ContextApproval),
    checkpoints: z.array(Checkpoint.extend({ runAttempt: z.int() }).meta({ id: 'ContextCheckpoint' })),
    childHandles: z.strictObject({ items: z.array(ChildHandle), hasMore: z.boolean() }),
    pendingControlMessages: z.array(ControlMessage),
    availableSkills: z.array(
      z.strictObject({ id: Uuid, name: z.string(), version: z.string(), protocol: z.string() }),
    ),
    eventCursor: z.string(),
  })
  .meta({ id: 'RunContext' });
export type RunContext = z.infer<typeof RunContext>;

/** The parts are JSON with wire names; only their timestamps need a conversion. */
export interface RunContextRow {
  horizon: number;
  run: RunContext['run'];
  task: Omit<RunContext['task'], 'priority'> & { priority: number };
  workspace: RunContext['workspace'];
  claim: RunContext['claim'];
  relations: RunContext['relations'];
  inputs: (RunContext['inputs'][number] & { sourceTaskId: string | null })[];
  artifacts: RunContext['artifacts'];
  approvals: RunContext['approvals'];
  tools: (RunContext['availableSkills'][number] & { visible: boolean })[];
  type_key: string;
  type_version: number;
  instructions: string;
  instructions_hash: string | null;
}

/** The parts of a context that one statement reads. */
export function contextPartsOf(row: RunContextRow) {
  const { run, task, claim, relations, artifacts, approvals } = row;
  const ref = `taskType:${row.type_key}@${row.type_version}`;
  const layer = { source: 'taskType', ref, version: row.type_version, text: row.instructions } as const;
  return {
    run: {
      ...run,
      startedAt: timestampText(run.startedAt),
      cancelRequestedAt: run.cancelRequestedAt === null ? null : timestampText(run.cancelRequestedAt),
    },
    instructions: { layers: row.instructions === '' ? [] : [layer], hash: row.instructions_hash },
    task: { ...task, priority: priorities[task.priority] as Task['priority'] },
    workspace: row.workspace,
    claim: claim === null ? null : { ...claim, expiresAt: timestampText(claim.expiresAt) },
    relations: relations.map(withTextInstant),
    inputs: row.inputs.map(({ key, type, from, required, artifactId }) => ({
      key,
      type,
      from,
      required,
      artifactId,
    })),
    artifacts: artifacts.map(withTextInstant),
    approvals: approvals.map(withTextInstant),
    availableSkills: row.tools
      .filter(({ visible }) => visible)
      .map(({ id, name, version, protocol }) => ({ id, name, version, protocol })),
  };
}

export function withTextInstant<Item extends { createdAt: string }>(item: Item): Item {
  return { ...item, createdAt: timestampText(item.createdAt) };
}
