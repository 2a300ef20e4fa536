import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Uuid } from '@baton/values/wire';
import { Evidence } from '../../definitions/acceptance/evidence.ts';
import { actionKinds } from '../documents/action.ts';
import type { Acting } from './work-item.ts';

const head = {
  ruleId: Uuid,
  ruleKey: z.string(),
  ruleVersion: z.int(),
  evaluationId: Uuid,
  taskId: Uuid,
  publicId: z.string(),
  evidence: z.array(Evidence),
  action: z.enum(actionKinds),
  dedupKey: z.string().nullable(),
};

/** A rule created a task, or linked its cause to the open task with the same key. */
export const workDerived = defineEvent(
  'work.derived',
  'task',
  z.strictObject({ ...head, created: z.boolean(), approvalId: Uuid.optional() }),
);

/** A rule changed or closed a task. */
export const workReconciled = defineEvent(
  'work.reconciled',
  'task',
  z.strictObject({
    ...head,
    changes: z.array(z.string()),
    verificationId: Uuid.optional(),
    check: z.string().optional(),
    target: z.enum(['dedup', 'task']).optional(),
  }),
);

/** The fields that the two events share. */
export function workHeadOf(
  { rule, evaluationId, evidence }: Acting,
  task: { id: string; publicId: string },
  dedupKey: string | null,
) {
  return {
    ruleId: rule.id,
    ruleKey: rule.key,
    ruleVersion: rule.version,
    evaluationId,
    taskId: task.id,
    publicId: task.publicId,
    evidence: [...evidence],
    action: rule.action.kind,
    dedupKey,
  };
}
