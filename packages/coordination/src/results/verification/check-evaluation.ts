import { eventText } from '@baton/values/event-text';
import type { Lookup } from '../../definitions/declared-actions/expressions.ts';
import type { TypeRules } from '../../definitions/task-types/type-rules.ts';
import type { ApprovalRow } from '../../work/gates/gates.ts';
import type { TaskRow } from '../../work/tasks/task.ts';
import type { AttemptCheck, CheckResult, NotCounted } from '../../work/verifications/attempt.ts';
import type { Context } from '../context.ts';
import type { JudgedAttemptRow } from './verifications.sql.ts';

/** An attempt while it is being evaluated. */
export interface EvaluatedAttempt {
  attempt: JudgedAttemptRow;
  /** Locked. */
  task: TaskRow;
  rules: TypeRules;
  /** The checks of the attempt, and those added to the task in the meantime. */
  checks: AttemptCheck[];
  /** The results of the checks so far. */
  results: CheckResult[];
}

/** The reason for a failed check. See docs/reference/completion.md#verification-attempts. */
export type FailureReason =
  | 'no_result'
  | 'not_a_prover'
  | 'expectation_not_met'
  | 'skill_failed'
  | 'skill_cancelled'
  | 'approval_rejected'
  | 'approval_cancelled'
  | 'no_approver'
  | 'artifact_missing'
  | 'artifact_media_type'
  | 'artifact_content_missing'
  | 'no_decision'
  | 'invalid_transition'
  | 'credential_inactive';

/** The result of evaluating a check. */
export type CheckOutcome =
  | { is: 'passed'; evidence: string[]; notCounted?: NotCounted[] }
  | { is: 'failed'; reason: FailureReason; message?: string; evidence?: string[]; notCounted?: NotCounted[] }
  | { is: 'waiting'; for: 'waiting_external'; notCounted: NotCounted[] }
  | { is: 'waiting'; for: 'running'; invocationId: string }
  | { is: 'waiting'; for: 'waiting_human'; approvalId: string };

/** The current check of an attempt; the task is locked. */
export interface CheckEvaluation {
  attempt: JudgedAttemptRow;
  task: TaskRow;
  check: AttemptCheck;
  /** All checks of the attempt, and the results so far. */
  checks: readonly AttemptCheck[];
  results: readonly CheckResult[];
  /** The context of the requester of the completion, on whose behalf approvals are requested and skills are called. */
  acting: Context;
  /** The values of the task's expressions. */
  lookup: Lookup;
  /** Whether this check has already waited: if so, the wait in `attempt` belongs to it, otherwise to another check. */
  hasWaited: boolean;
}

/** What a person's decision, or a pending request, means for its check. */
export function resultOfApproval({
  id: approvalId,
  status,
  decision_comment: comment,
}: ApprovalRow): CheckOutcome {
  const evidence = [`approval:${approvalId}`];
  if (status === 'pending') return { is: 'waiting', for: 'waiting_human', approvalId };
  if (status === 'approved') return { is: 'passed', evidence };
  const reason = status === 'rejected' ? 'approval_rejected' : 'approval_cancelled';
  return { is: 'failed', reason, evidence, ...(comment && { message: eventText(comment) }) };
}
