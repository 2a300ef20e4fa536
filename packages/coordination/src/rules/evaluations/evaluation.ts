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

/** The result of the condition and of each item of the action. */
export const EvaluationResult = z.strictObject({
  conditionMatched: z.boolean().optional(),
  waitingFor: z
    .enum(['skill', 'claim', 'turn'])
    .optional()
    .meta({ description: 'turn: the next turns process the remaining items of a long list.' }),
  work: z.array(WorkItem).optional(),
  reason: z.string().optional(),
});
export type EvaluationResult = z.infer<typeof EvaluationResult>;

export const EvaluationError = z.strictObject({ code: z.string(), message: z.string(), details: FreeObject });
export type EvaluationError = z.infer<typeof EvaluationError>;

/** The evaluation of a rule for one cause (docs/reference/rules.md#evaluations). */
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

/** The remaining work of a pending evaluation, and its cause. */
export interface PendingWork {
  readonly cause: unknown;
  /** Whether the evaluation waits for the skill's result: no item has been processed yet. */
  readonly isAsking?: boolean;
  /** Indexes in `result.work` of tasks whose claims must end first. */
  readonly waiting: readonly number[];
  /** Items left over from a turn, and the other roots that their templates read, with their values at evaluation. */
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

/** The outcome of evaluating a cause. */
export interface Finding {
  readonly status: EvaluationStatus;
  readonly result: EvaluationResult;
  readonly error?: EvaluationError;
  readonly pending?: PendingWork;
  /** The id of the call that was just started. */
  readonly skillInvocationId?: string;
}

/** The reason why an evaluation is not pending. */
export const waitingLimit = 'rule_waiting_limit';

/** The evaluation failed. @param result the results of the items before the failure */
export function failed(code: string, details: JsonObject, result: EvaluationResult = {}): Finding {
  const known = errors[code as ErrorCode] as { when: string } | undefined;
  const message = known?.when ?? messages[code] ?? code;
  return { status: 'failed', result, error: { code, message, details } };
}

const messages: Readonly<Record<string, string>> = {
  credential_inactive: 'The principal who enabled the rule is inactive, or their credential was closed.',
  rule_loop: 'Rules trigger each other in an infinite loop.',
  rule_condition_error: 'The condition compares values without an order, or takes too many steps.',
  rule_internal_error: 'An unexpected error; only the log has its trace.',
  work_items_refused: 'Every item of the action was refused.',
  rule_skill_failed: 'The skill that the rule called failed, or its call was cancelled.',
  rule_skill_wait_expired: 'The skill that the rule called returned no result in time.',
  [waitingLimit]: 'Too many evaluations of the rule or of the tenant are pending.',
  claim_not_released: 'The claims on the tasks did not end in time.',
};
