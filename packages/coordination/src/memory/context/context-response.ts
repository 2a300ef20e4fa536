import { z } from 'zod';
import { FreeObject, Timestamp, Uuid } from '@baton/values/wire';
import { ContextArtifact, ContextInput } from '../../execution/handover/run-context.ts';
import { HarnessContext } from '../../execution/harness/harness-context.ts';
import { EffectiveConfig } from '../../organisation/projects/config/effective-config.ts';
import { Project } from '../../organisation/projects/project.ts';
import { Task } from '../../work/tasks/task.ts';
import { TaskRef } from '../../work/tasks/task-ref.ts';
import { AsOf } from '../gateway/conditions.ts';
import { asOfModes, KnownPack } from './context-pack.ts';

export const anchorsMax = 10;
const strategies = ['semantic', 'exact', 'graph', 'hybrid', 'context', 'briefing'] as const;

export const ContextRequest = z
  .strictObject({
    query: z.string().max(2000).default(''),
    task: TaskRef.nullish(),
    runId: Uuid.nullish(),
    workspaceId: Uuid.nullish(),
    projectId: Uuid.nullish(),
    includeSubprojects: z.boolean().default(false),
    maxTokens: z.int().min(1).max(1_000_000).nullish(),
    includeMemory: z.boolean().default(true),
    // An invalid number or form of these fields has its own error code.
    anchors: z
      .array(z.string().max(1000))
      .max(1000)
      .default([])
      .meta({ description: `At most ${anchorsMax}, of the form \`type:key\`.` }),
    strategy: z.enum(strategies).nullish(),
    asOf: AsOf.nullish(),
  })
  .meta({ id: 'ContextRequest' });
export type ContextRequest = z.output<typeof ContextRequest>;

const FocusTask = Task.pick({
  id: true,
  publicId: true,
  title: true,
  description: true,
  status: true,
  priority: true,
  workspaceId: true,
  version: true,
  activeClaimId: true,
}).meta({ id: 'FocusTask' });

const ContextFocus = z
  .strictObject({
    task: FocusTask,
    artifacts: z
      .array(ContextArtifact)
      .nullable()
      .meta({ description: 'The newest 20; `null` for callers who may not read artifacts.' }),
    inputs: z.array(ContextInput),
  })
  .meta({ id: 'ContextFocus' });
export type ContextFocus = z.infer<typeof ContextFocus>;

export const projectWorkspacesMax = 200;

const ContextProject = Project.extend({
  effectiveConfig: EffectiveConfig.shape.config,
  configProvenance: EffectiveConfig.shape.provenance,
  workspaceScope: z.array(Uuid).meta({
    description: `Its workspaces, its own first, including those of nested projects if these are included; at most ${projectWorkspacesMax}.`,
  }),
  includeSubprojects: z.boolean(),
}).meta({ id: 'ContextProject' });
export type ContextProject = z.infer<typeof ContextProject>;

const Operational = HarnessContext.extend({
  focus: ContextFocus.nullable(),
  project: ContextProject.nullable(),
}).meta({ id: 'OperationalContext' });

const Freshness = z
  .strictObject({
    currentCursor: z.string(),
    memoryCursor: z
      .string()
      .nullable()
      .meta({ description: 'Memory has received the events up to this position.' }),
    memoryLagEvents: z
      .int()
      .nullable()
      .meta({ description: 'Events that memory has not received, at most 1000.' }),
    memoryLagCapped: z.boolean().meta({ description: 'Whether the count was cut off.' }),
    memoryIngest: z.strictObject({
      status: z.enum(['ok', 'parked']),
      lastError: z.string().nullable().meta({
        description: 'Only for callers with `events.read` who see all workspaces; `null` for others.',
      }),
      lastDeliveryAt: Timestamp.nullable(),
      parkedEventId: Uuid.nullable().meta({ description: 'As `lastError`.' }),
      nextAttemptAt: Timestamp.nullable(),
    }),
  })
  .meta({ id: 'ContextFreshness' });
export type Freshness = z.infer<typeof Freshness>;

const Instructions = z
  .strictObject({
    layers: z.array(
      z.strictObject({
        source: z.enum(['platform', 'project', 'taskType']),
        ref: z.string(),
        version: z.int(),
        text: z.string(),
      }),
    ),
    hash: z
      .string()
      .nullable()
      .meta({ description: '`sha256:<hex>` of the texts; null without instructions.' }),
  })
  .meta({ id: 'LayeredInstructions' });
export type Instructions = z.infer<typeof Instructions>;

const TaskContext = z
  .strictObject({
    status: z.enum(['ok', 'empty', 'unavailable', 'timeout', 'disabled', 'forbidden']),
    contextPackId: Uuid.nullable().meta({ description: 'The pack recorded for the live claim.' }),
    claimId: Uuid.nullable().meta({ description: 'The live claim of the task.' }),
    asOf: Timestamp,
    asOfMode: z.enum(asOfModes),
    replayed: z.boolean().meta({ description: 'Whether `pack` is the recorded one.' }),
    recorded: z.boolean().meta({ description: 'Whether this call recorded it.' }),
    budgetTokens: z.int(),
    anchors: z.array(z.string()),
    warnings: z.array(z.string()),
    pack: KnownPack.nullable(),
  })
  .meta({ id: 'TaskContext' });
export type TaskContext = z.infer<typeof TaskContext>;

export const memoryStatuses = ['ok', 'disabled', 'forbidden', 'timeout', 'unavailable'] as const;
export type MemoryStatus = (typeof memoryStatuses)[number];

/** The context for a principal that is about to act. See docs/reference/memory.md#context. */
export const ContextAnswer = z
  .strictObject({
    operational: Operational,
    memory: FreeObject.nullable().meta({ description: 'The unchanged response of the memory service.' }),
    memoryStatus: z.enum(memoryStatuses),
    memoryTraceId: z.string().nullable(),
    freshness: Freshness,
    warnings: z.array(z.string()),
    instructions: Instructions.optional(),
    taskContext: TaskContext.optional(),
  })
  .meta({ id: 'ContextAnswer' });
export type ContextAnswer = z.infer<typeof ContextAnswer>;
