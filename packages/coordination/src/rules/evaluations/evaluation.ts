import { z } from 'zod';
import { type RowOf, wireMapper } from '@baton/kernel/database/row';
import { FreeObject, type Json, type JsonObject, pageOf, Timestamp, Uuid } from '@baton/values/wire';
import { Evidence } from '../../definitions/acceptance/evidence.ts';
import type { Tables } from '../../service/schema.ts';
import type { RuleRoots } from '../acts/cause.ts';
import { WorkItem } from '../acts/work-item.ts';
import { type ErrorCode, errors } from '../errors.ts';

export const evaluationStatuses = ['waiting', 'matched', 'not_matched', 'failed', 'skipped'] as const;
export type EvaluationStatus = (typeof evaluationStatuses)[number];

/** What came of the condition and of each item of the action. */
export const EvaluationResult = z.strictObject({
  conditionMatched: z.boolean().optional(),
  waitingFor: z
    .enum(['skill', 'claim', 'turn'])
    .optional()
    .meta({ description: 'turn: what is left to do of a long list of items is done in the next turns.' }),
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
  /** Items that a turn had no time for, and what else their templates read, as it was when the rule looked. */
  readonly left?: { readonly roots: RuleRoots; readonly items: readonly Json[] };
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

/** Why an evaluation does not wait. */
export const waitingLimit = 'rule_waiting_limit';

/** The evaluation failed. @param result what was done before */
export function failed(code: string, details: JsonObject, result: EvaluationResult = {}): Finding {
  const known = errors[code as ErrorCode] as { when: string } | undefined;
  const message = known?.when ?? messages[code] ?? code;
  return { status: 'failed', result, error: { code, message, details } };
}

const messages: Readonly<Record<string, string>> = {
  credential_inactive: 'Whoever enabled the rule is not active any more, or their credential was closed.',
  rule_loop: 'Rules cause each other without end.',
  rule_condition_error: 'The condition compares what has no order, or takes too many steps.',
  rule_internal_error: 'An unhandled failure; the trace is in the log only.',
  work_items_refused: 'Every item of the action was refused.',
  rule_skill_failed: 'The skill that the rule asked failed, or its call was cancelled.',
  rule_skill_wait_expired: 'The skill that the rule asked did not answer in time.',
  [waitingLimit]: 'Too many evaluations of the rule, or of the tenant, wait already.',
  claim_not_released: 'The claims on the tasks did not end in time.',
};
