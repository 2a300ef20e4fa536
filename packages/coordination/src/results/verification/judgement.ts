import { eventText } from '@baton/values/event-text';
import type { Lookup } from '../../definitions/declared-actions/expressions.ts';
import type { TypeRules } from '../../definitions/task-types/type-rules.ts';
import type { ApprovalRow } from '../../work/gates/gates.ts';
import type { TaskRow } from '../../work/tasks/task.ts';
import type { AttemptCheck, CheckResult, NotCounted } from '../../work/verifications/attempt.ts';
import type { Context } from '../context.ts';
import type { JudgedAttemptRow } from './verifications.sql.ts';

/** An attempt while it is judged. */
export interface Judgement {
  attempt: JudgedAttemptRow;
  /** Locked. */
  task: TaskRow;
  rules: TypeRules;
  /** Those of the attempt, and those that were added to the task since. */
  checks: AttemptCheck[];
  /** Of the first of the checks. */
  results: CheckResult[];
}

/** Why a check failed (core, section 8.8). */
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

/** What a look at a check came to. */
export type Verdict =
  | { is: 'passed'; evidence: string[]; notCounted?: NotCounted[] }
  | { is: 'failed'; reason: FailureReason; message?: string; evidence?: string[]; notCounted?: NotCounted[] }
  | { is: 'waiting'; for: 'waiting_external'; notCounted: NotCounted[] }
  | { is: 'waiting'; for: 'running'; invocationId: string }
  | { is: 'waiting'; for: 'waiting_human'; approvalId: string };

/** A check of an attempt in its turn; the task is locked. */
export interface Judged {
  attempt: JudgedAttemptRow;
  task: TaskRow;
  check: AttemptCheck;
  /** All checks of the attempt, and the results of the first of them. */
  checks: readonly AttemptCheck[];
  results: readonly CheckResult[];
  /** The context of who asked for the completion, in which people are asked and skills called. */
  acting: Context;
  /** The values of expressions of the task. */
  lookup: Lookup;
  /** Whether this check has waited before: what `attempt` says of a wait is about it. Else it is about another. */
  hasWaited: boolean;
}

/** What a person's decision, or that nobody has decided yet, means for the check that it is asked for. */
export function verdictOf({ id: approvalId, status, decision_comment: comment }: ApprovalRow): Verdict {
  const evidence = [`approval:${approvalId}`];
  if (status === 'pending') return { is: 'waiting', for: 'waiting_human', approvalId };
  if (status === 'approved') return { is: 'passed', evidence };
  const reason = status === 'rejected' ? 'approval_rejected' : 'approval_cancelled';
  return { is: 'failed', reason, evidence, ...(comment && { message: eventText(comment) }) };
}
