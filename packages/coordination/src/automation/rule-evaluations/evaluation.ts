import { z } from 'zod';
import { type RowOf, wireMapper } from '@baton/kernel/row';
import { FreeObject, pageOf, Timestamp, Uuid } from '@baton/kernel/wire';
import { Evidence } from '../../definitions/acceptance/evidence.ts';
import type { Tables } from '../../service/schema.ts';
import { WorkItem } from '../rule-acts/work-item.ts';

export const evaluationStatuses = ['waiting', 'matched', 'not_matched', 'failed', 'skipped'] as const;
export type EvaluationStatus = (typeof evaluationStatuses)[number];

/** What came of the condition and of each item of the action. */
export const EvaluationResult = z.strictObject({
  conditionMatched: z.boolean().optional(),
  waitingFor: z.enum(['skill', 'claim']).optional(),
  work: z.array(WorkItem).optional(),
  reason: z.string().optional(),
});
export type EvaluationResult = z.infer<typeof EvaluationResult>;

export const EvaluationError = z.strictObject({ code: z.string(), message: z.string(), details: FreeObject });
export type EvaluationError = z.infer<typeof EvaluationError>;

/** One look of a rule at one cause (organisation, section 8.4). */
export const RuleEvaluation = z
  .strictObject({
    id: Uuid,
    ruleId: Uuid,
    ruleVersion: z.int(),
    triggerRef: z.string(),
    triggerEventId: Uuid.nullable(),
    status: z.enum(evaluationStatuses),
    result: EvaluationResult,
    evidence: z.array(Evidence),
    skillInvocationId: Uuid.nullable(),
    createdTaskIds: z.array(Uuid),
    error: EvaluationError.nullable(),
    nextCheckAt: Timestamp.nullable(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  })
  .meta({ id: 'RuleEvaluation' });
export type RuleEvaluation = z.infer<typeof RuleEvaluation>;

export const RuleEvaluationPage = pageOf(RuleEvaluation);

/** What a waiting evaluation still has to do, and what its rule looked at. */
export interface PendingWork {
  readonly cause: unknown;
  /** Whether the skill's answer is waited for: nothing was done yet. */
  readonly isAsking?: boolean;
  /** Places in `result.work` whose tasks are waited for. */
  readonly waiting: readonly number[];
}

export type EvaluationRow = RowOf<
  Tables['rule_evaluations'],
  {
    status: EvaluationStatus;
    result: EvaluationResult;
    evidence: Evidence[];
    error: EvaluationError | null;
    pending: PendingWork | null;
  }
>;

export const evaluationOf = wireMapper<EvaluationRow>()(RuleEvaluation, {});

/** What came of a look at a cause. */
export interface Finding {
  readonly status: EvaluationStatus;
  readonly result: EvaluationResult;
  readonly error?: EvaluationError;
  readonly pending?: PendingWork;
  /** Of the call that was asked for just now. */
  readonly skillInvocationId?: string;
}
