import { z } from 'zod';
import { type RowOf, wireMapper } from '@baton/kernel/database/row';
import { overdueSecondsOf } from '@baton/process-engine/engine/deadlines';
import type { Input } from '@baton/process-engine/engine/inputs';
import { inOrder, type ProcessState } from '@baton/process-engine/engine/state';
import { FreeObject, type JsonObject, pageOf, Timestamp, Uuid } from '@baton/values/wire';
import { documentBytesMax } from '../../service/documents.ts';
import type { Tables } from '../../service/schema.ts';
import { type LeftOpen, objectOf } from './left-open/left-open.ts';

export const instanceStatuses = ['running', 'suspended', 'completed', 'failed', 'cancelled'] as const;
export const slaStates = ['ok', 'warning', 'breached', 'paused', 'unknown', 'none'] as const;
export const journalKinds = ['decision', 'intent', 'input', 'settings', 'data', 'timer', 'state'] as const;

const Deadline = z
  .strictObject({
    dueAt: Timestamp.nullable(),
    warnAt: Timestamp.nullable(),
    provisional: z.boolean(),
    remainingSeconds: z.number().nullable(),
    remainingUnit: z.enum(['wall', 'working_seconds', 'workdays']),
  })
  .meta({
    id: 'ProcessDeadline',
    description: 'While the instance is suspended, `remainingSeconds` has the remaining time.',
  });

const sla = { slaState: z.enum(slaStates) };

/** An instance of a process (docs/reference/processes.md#instances). */
export const ProcessInstance = z
  .strictObject({
    id: Uuid,
    tenantId: Uuid,
    workspaceId: Uuid.nullable(),
    definitionKey: z.string(),
    definitionVersion: z.int().positive(),
    instanceKey: z.string(),
    status: z.enum(instanceStatuses),
    outcome: z.string().nullable(),
    data: FreeObject,
    stages: z.array(
      z.strictObject({ id: z.string(), state: z.enum(['available', 'active', 'completed', 'terminated']) }),
    ),
    openElements: z.array(
      z.strictObject({
        id: z.string(),
        kind: z.string(),
        since: Timestamp,
        taskId: Uuid.nullable(),
        approvalIds: z.array(Uuid),
        attempt: z.int(),
        due: Deadline.nullable(),
        ...sla,
        overdueSeconds: z.int().nullable(),
      }),
    ),
    timers: z
      .array(
        z.strictObject({
          id: Uuid,
          element: z.string(),
          dueAt: Timestamp.nullable(),
          state: z.enum(['pending', 'frozen', 'fired', 'cancelled']),
          provisional: z.boolean(),
          remainingSeconds: z.number().nullable(),
        }),
      )
      .meta({
        description:
          'Timers with the same due time fire in this order: the warning, the breach, escalations by level, all others.',
      }),
    sla: Deadline.nullable(),
    ...sla,
    suspension: z
      .strictObject({ element: z.string().nullable(), code: z.string(), reason: z.string() })
      .nullable()
      .meta({
        description:
          'The reason why the instance cannot continue until it is resumed or the step is skipped.',
      }),
    kept: z.strictObject({ inputs: z.int().nonnegative(), passedOver: z.int().nonnegative() }).meta({
      description:
        'Inputs that are pending until the instance continues, and those that this suspension skipped because too many were pending.',
    }),
    leftOpen: z
      .array(
        z.strictObject({
          element: z.string(),
          kind: z.enum(['task', 'approval', 'call', 'instance']),
          id: Uuid,
          code: z.string(),
          attempts: z.int().positive(),
          nextAttemptAt: Timestamp,
        }),
      )
      .meta({
        description:
          'Objects that an ended step could not close: the close was refused with `code`. The close is retried, with at most an hour between attempts, until it succeeds.',
      }),
    startedAt: Timestamp,
    updatedAt: Timestamp,
    completedAt: Timestamp.nullable(),
  })
  .meta({ id: 'ProcessInstance' });
export type ProcessInstance = z.infer<typeof ProcessInstance>;

export const ProcessInstancePage = pageOf(ProcessInstance);

/** A line in an instance's journal: an input or a consequence. */
export const ProcessJournalEntry = z
  .strictObject({
    seq: z.int().positive(),
    at: Timestamp,
    kind: z.enum(journalKinds),
    element: z.string().nullable(),
    reason: z.string().nullable(),
    actorId: Uuid.nullable(),
    eventId: Uuid.nullable(),
    data: FreeObject,
  })
  .meta({ id: 'ProcessJournalEntry' });
export const ProcessJournalPage = pageOf(ProcessJournalEntry);

const processKey = z
  .string()
  .regex(/^[a-z0-9][a-z0-9_-]{0,62}$/)
  .meta({ description: 'The key of a definition; the newest version is used.' });

export const InstanceRequest = z
  .strictObject({
    process: processKey,
    key: z.string().min(1).max(500),
    data: z.unknown().meta({ type: 'object', 'x-maxBytes': documentBytesMax }).default({}),
    workspaceId: Uuid.nullish(),
  })
  .meta({ id: 'ProcessInstanceRequest' });
export type InstanceRequest = z.output<typeof InstanceRequest>;

const reason = z.string().min(1).max(500);
export const Suspension = z.strictObject({ reason }).meta({ id: 'ProcessSuspension' });
export const Resumption = z.strictObject({ reason: reason.nullish() }).meta({ id: 'ProcessResumption' });
export const Cancellation = z
  .strictObject({ reason, compensate: z.boolean().default(true) })
  .meta({ id: 'ProcessCancellation' });
export const Skip = z
  .strictObject({ element: z.string().regex(/^[a-z][a-z0-9-]{0,62}$/), reason })
  .meta({ id: 'ProcessSkip' });

export type InstanceRow = RowOf<
  Tables['process_instances'],
  {
    status: (typeof instanceStatuses)[number];
    sla_state: (typeof slaStates)[number];
    state: ProcessState;
    left_open: LeftOpen[];
  }
>;

/** A row with the current time, which determines how long the instance is overdue. */
export type ShownRow = InstanceRow & { now: string };

export const instanceOf = wireMapper<ShownRow>()(ProcessInstance, {
  data: ({ state }) => state.data,
  stages: ({ state: { stages, stageOrder = Object.keys(stages) } }) =>
    stageOrder.flatMap((id) => {
      const stage = stages[id];
      return stage === undefined ? [] : [{ id, state: stage.state }];
    }),
  openElements: ({ state, now }) => openElementsOf(state, now),
  timers: ({ state }) =>
    Object.values(state.timers).map(({ id, element, dueAt, state: is, provisional, remainingSeconds }) => ({
      id,
      element,
      dueAt,
      state: is,
      provisional,
      remainingSeconds,
    })),
  sla: ({ state }) => state.due,
  suspension: ({ state }) => state.parked,
  kept: ({ kept_inputs: inputs, passed_over: passedOver }) => ({ inputs, passedOver }),
  leftOpen: ({ left_open: leftOpen }) =>
    leftOpen.map(({ effect, code, attempts, nextAt: nextAttemptAt }) => {
      const kind = effect.kind.slice('close_'.length) as 'task' | 'approval' | 'call' | 'instance';
      return { element: effect.element, kind, id: objectOf(effect).id, code, attempts, nextAttemptAt };
    }),
});

function openElementsOf({ nodes }: ProcessState, now: string): ProcessInstance['openElements'] {
  return inOrder(nodes).flatMap((node) => {
    if (node.kind !== 'element') return [];
    const { id, stepKind: kind, since, ballots = [], attempt, due, slaState } = node;
    // A step whose task was refused has no task id.
    const taskId = (node.refused !== true && node.taskId) || null;
    const approvalIds = ballots.filter(({ asked }) => asked).map(({ approvalId }) => approvalId);
    const overdueSeconds = due === null ? null : overdueSecondsOf(now, due.dueAt);
    return [{ id, kind, since, taskId, approvalIds, attempt, due, slaState, overdueSeconds }];
  });
}

export type JournalRow = Omit<
  RowOf<Tables['process_instance_journal'], { kind: (typeof journalKinds)[number]; data: JsonObject }>,
  'input'
>;
export const journalEntryOf = wireMapper<JournalRow>()(ProcessJournalEntry, {});

/** An input as stored in the journal, complete enough for replays (docs/reference/processes.md#replay). */
export interface Recorded {
  readonly taken: Input;
  /** For an instance's first input: its initial data. */
  readonly began?: { readonly data: JsonObject; readonly hasBegun?: boolean };
}
