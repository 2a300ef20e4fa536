import { z } from 'zod';
import type { RowOf } from '@baton/kernel/database/row';
import { FreeObject, Timestamp, Uuid } from '@baton/values/wire';
import type { CredentialSnapshot } from '../../access/authn/credential-snapshot.ts';
import type { DecisionAction } from '../../definitions/declared-actions/actions.ts';
import type { ExpressionValues } from '../../definitions/declared-actions/filled-actions.ts';
import type { Tables } from '../../service/schema.ts';
import { type ActionResult, actionStatuses, kindOf } from '../../work/declared-actions/declared-actions.ts';
import type { ApprovalRow } from '../../work/gates/gates.ts';
import { outcomeStatuses } from '../approvals/approval.ts';

const OutcomeError = z.strictObject({ code: z.string(), details: FreeObject });

/** The outcome of a decision, and its progress. See docs/reference/approvals.md#outcomes. */
export const ApprovalOutcome = z
  .strictObject({
    approvalId: Uuid,
    outcome: z
      .enum(['approved', 'rejected'])
      .nullable()
      .meta({ description: '`null` if no outcome is declared.' }),
    outcomeStatus: z.enum(outcomeStatuses).nullable(),
    attempts: z.int(),
    lastError: OutcomeError.nullable(),
    nextAttemptAt: Timestamp.nullable(),
    actions: z.array(
      z.strictObject({
        index: z.int(),
        action: z.string(),
        status: z.enum(actionStatuses),
        attempts: z.int(),
        result: FreeObject.nullable(),
        error: OutcomeError.nullable(),
        reactsTo: z.int().nullable(),
        when: z.string().nullable(),
      }),
    ),
  })
  .meta({ id: 'ApprovalOutcome' });
export type ApprovalOutcome = z.infer<typeof ApprovalOutcome>;

export type OutcomeRow = RowOf<
  Tables['approval_outcomes'],
  {
    outcome: 'approved' | 'rejected';
    credential: CredentialSnapshot;
    declared: DecisionAction[];
    actions: ActionResult[];
    last_error: ActionResult['error'];
    expression_values: ExpressionValues | null;
  }
>;

/** An outcome with the required fields of its approval. */
export type OutcomeOfApprovalRow = OutcomeRow &
  Pick<
    ApprovalRow,
    | 'task_id'
    | 'workspace_id'
    | 'outcome_status'
    | 'decision_by_principal_id'
    | 'decision_at'
    | 'decision_comment'
  >;

/** The outcome of an approval; every field is null if none is declared. */
export function outcomeOf(
  approvalId: string,
  row: (OutcomeRow & Pick<ApprovalRow, 'outcome_status'>) | undefined,
): ApprovalOutcome {
  if (row === undefined)
    return {
      approvalId,
      outcome: null,
      outcomeStatus: null,
      attempts: 0,
      lastError: null,
      nextAttemptAt: null,
      actions: [],
    };
  const { declared, actions } = row;
  return {
    approvalId,
    outcome: row.outcome,
    outcomeStatus: row.outcome_status,
    attempts: row.attempts,
    lastError: row.last_error,
    nextAttemptAt: row.next_attempt_at,
    actions: stepsOf(declared).map(({ action, reactsTo, when }, index) => ({
      ...(actions[index] ?? untriedResult(action, index)),
      reactsTo,
      when,
    })),
  };
}

/** The action of an outcome that is executed next. */
export interface Step {
  readonly action: DecisionAction;
  /** For reactions to a call of a skill: the index of the call, and the end that triggers them. */
  readonly reactsTo: number | null;
  readonly when: 'success' | 'failure' | null;
}

/** The actions of an outcome in order; the reactions to a call follow the call. */
export function stepsOf(declared: readonly DecisionAction[]): Step[] {
  const steps: Step[] = [];
  for (const action of declared) {
    const reactsTo = steps.push({ action, reactsTo: null, when: null }) - 1;
    if (!('invokeSkill' in action)) continue;
    const { onSuccess = [], onFailure = [] } = action.invokeSkill;
    steps.push(...onSuccess.map((reaction): Step => ({ action: reaction, reactsTo, when: 'success' })));
    steps.push(...onFailure.map((reaction): Step => ({ action: reaction, reactsTo, when: 'failure' })));
  }
  return steps;
}

/** An action that has not been attempted yet. */
export function untriedResult(action: DecisionAction, index: number): ActionResult {
  return { index, action: kindOf(action), status: 'not_executed', attempts: 0, result: null, error: null };
}
