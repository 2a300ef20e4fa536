import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Timestamp, Uuid } from '@baton/values/wire';

/** The events of instances (docs/reference/journal.md#events); every payload starts with the same fields. */

const head = {
  instanceId: Uuid,
  definitionKey: z.string(),
  version: z.int(),
  instanceKey: z.string(),
  workspaceId: Uuid.nullable(),
};
const about = <Shape extends z.ZodRawShape>(type: string, shape: Shape, version = 1) =>
  defineEvent(type, 'process_instance', z.strictObject({ ...head, ...shape }), version);

const text = z.string();
const fields = z.array(z.string());
const trigger = { triggerEventId: Uuid.nullable(), triggerType: text.nullable() };
/** Facts about the instance for the memory service, if its definition declares them. */
const memory = z
  .strictObject({
    case: z.strictObject({ kind: z.literal('case'), key: text, title: text }),
    facts: z.array(z.strictObject({ predicate: text, object: text })),
    entities: z.array(z.strictObject({ type: text, key: text, title: text })),
    documents: z.strictObject({ artifacts: z.array(text) }).nullable(),
  })
  .nullable();
const step = {
  element: text,
  stage: text.nullable(),
  stepKind: text,
  attempt: z.int(),
  activityId: Uuid,
  enteredAt: Timestamp,
};
const deadline = { due: Timestamp.nullable() };
const activity = {
  scope: z.enum(['step', 'process']),
  element: text.nullable(),
  attempt: z.int(),
  activityId: Uuid,
};
const people = { owner: Uuid.nullable(), assignee: Uuid.nullable() };

export const processEvents = {
  'process.started': about('process.started', { ...trigger, memory }),
  'process.correlated': about('process.correlated', { ...trigger, changedFields: fields }),
  'process.data_changed': about('process.data_changed', {
    changedFields: fields,
    element: text.nullable(),
    memory,
  }),
  'process.stage_entered': about('process.stage_entered', { stage: text }),
  'process.stage_exited': about('process.stage_exited', { stage: text }),
  'process.milestone_reached': about('process.milestone_reached', { milestone: text, stage: text }),
  'process.milestone_lost': about('process.milestone_lost', { milestone: text, stage: text }),
  'process.step_entered': about('process.step_entered', {
    ...step,
    waitsFor: text.nullable(),
    taskId: Uuid.nullable(),
    approvalIds: z.array(Uuid),
    skillInvocationId: Uuid.nullable(),
    childInstanceId: Uuid.nullable(),
    ...deadline,
    warnAt: Timestamp.nullable(),
    provisional: z.boolean(),
  }),
  'process.step_exited': about('process.step_exited', {
    ...step,
    exitedAt: Timestamp,
    outcome: z.enum([
      'completed',
      'cancelled',
      'withdrawn',
      'interrupted',
      'failed',
      'timed_out',
      'migrated',
    ]),
    durationSeconds: z.int(),
    ...deadline,
    breached: z.boolean(),
    overdueSeconds: z.int().nullable(),
  }),
  'process.timer_fired': about('process.timer_fired', { timerId: Uuid, element: text, dueAt: Timestamp }),
  'process.timer_rescheduled': about('process.timer_rescheduled', {
    timerId: Uuid,
    element: text,
    previousDueAt: Timestamp.nullable(),
    dueAt: Timestamp.nullable(),
    provisional: z.boolean(),
    cause: z.enum(['data_changed', 'calendar_changed', 'resumed', 'migrated']),
    changedFields: fields.nullable(),
  }),
  'process.escalated': about(
    'process.escalated',
    {
      element: text,
      level: z.int(),
      action: z.enum(['remind', 'reassign', 'notify', 'raise']),
      taskId: Uuid.nullable(),
      to: Uuid.nullable(),
      addressees: z.array(Uuid),
      unresolved: z.array(text),
    },
    2,
  ),
  'process.sla_warning': about('process.sla_warning', {
    ...activity,
    dueAt: Timestamp.nullable(),
    warnAt: Timestamp.nullable(),
    provisional: z.boolean(),
    ...people,
  }),
  'process.sla_breached': about('process.sla_breached', {
    ...activity,
    dueAt: Timestamp.nullable(),
    detectedAt: Timestamp,
    overdueSeconds: z.int(),
    detectedBy: z.enum(['timer', 'migration']),
    provisional: z.boolean(),
    ...people,
  }),
  'process.sla_failed': about('process.sla_failed', {
    ...activity,
    error: z.strictObject({ code: text, reason: text }),
  }),
  'process.suspended': about('process.suspended', {
    cause: z.enum(['event', 'operator', 'input_failed']),
    reason: text.nullable(),
  }),
  'process.resumed': about('process.resumed', {
    cause: z.enum(['event', 'operator', 'skipped']),
    element: text.optional(),
    reason: text.optional(),
  }),
  'process.compensated': about('process.compensated', { scope: z.enum(['step', 'process']), steps: fields }),
  'process.recall_completed': about('process.recall_completed', {
    step: text,
    recallId: Uuid,
    asOf: Timestamp,
    nodeCount: z.int(),
    edgeCount: z.int(),
    truncated: z.boolean(),
    resultHash: text,
  }),
  'process.recall_timed_out': about('process.recall_timed_out', {
    step: text,
    recallId: Uuid,
    reason: z.enum(['timeout', 'memory_disabled', 'memory_refused', 'memory_unreadable']),
  }),
  'process.migrated': about('process.migrated', {
    fromVersion: z.int(),
    map: z.record(text, text.nullable()),
    policy: z.literal('migrate'),
  }),
  'process.completed': about('process.completed', { outcome: text.nullable(), memory }),
  'process.cancelled': about('process.cancelled', { reason: text, compensated: fields }),
  'process.failed': about('process.failed', {
    error: z.strictObject({ type: text, status: z.int().nullable(), detail: text.nullable() }),
    element: text.nullable(),
  }),
} as const;

export type ProcessEventType = keyof typeof processEvents;
