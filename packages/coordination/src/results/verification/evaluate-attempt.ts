import { canonicalJson } from '@baton/values/canonical-json';
import { resolveSnapshot } from '../../access/authn/credential-snapshot.ts';
import { allHaveValues } from '../../definitions/declared-actions/task-values.ts';
import { rulesOf } from '../../definitions/task-types/type-rules.ts';
import { lookupOf, lookupOfConditions } from '../../work/tasks/lookup.ts';
import { taskOf } from '../../work/tasks/task.ts';
import type { AttemptCheck, CheckResult, NotCounted } from '../../work/verifications/attempt.ts';
import { checksOf } from '../../work/verifications/attempts.ts';
import { withdrawApproval } from '../approvals/decisions.ts';
import type { Context } from '../context.ts';
import {
  type CheckOutcome,
  type EvaluatedAttempt,
  type FailureReason,
  resultOfApproval,
} from './check-evaluation.ts';
import { checkEvaluators } from './check-evaluators.ts';
import { failAttempt, passAttempt } from './end-attempt.ts';
import { withdrawCall } from './skill-check.ts';
import {
  findAttempt,
  findRefusedChecks,
  type JudgedAttemptRow,
  lockFreeTaskOfAttempt,
  updateAttempt,
  updateAttemptToSettled,
  updateNextLook,
} from './verifications.sql.ts';

/** Maximum number of checks per attempt, including those added later; exceeding it indicates a faulty client. */
const checksMax = 300;
/**
 * A decision wakes the attempt that waits for it, so polling can be rare: 100,000 attempts that wait for people, each
 * polled every 15 s, would take 6,700 transactions a second.
 */
const personLookSecondsMax = 3600;

/**
 * Evaluates as much as possible of an attempt that is due, on behalf of the requester of the completion. See
 * docs/reference/completion.md#verification-attempts.
 * @returns 1, or 0 if another transaction has locked its task: the attempt stays due
 */
export async function evaluateAttempt(context: Context, attemptId: string): Promise<number> {
  const { db, tenantId } = context;
  const asked = await db.row(findAttempt(tenantId, attemptId));
  if (asked === undefined) return 0;
  // Principals are locked before tasks.
  const caller = await resolveSnapshot(context, asked.credential);
  const task = await db.row(lockFreeTaskOfAttempt(tenantId, attemptId));
  if (task === undefined) return 0;
  const attempt = (await db.row(findAttempt(tenantId, attemptId))) as JudgedAttemptRow;
  if (attempt.finished_at !== null) {
    await takeBack(context, attempt);
    await db.run(updateAttemptToSettled(tenantId, attemptId));
    return 1;
  }
  const rules = await rulesOf(context, task.type_id);
  const evaluated = { attempt, task, rules, checks: [...attempt.checks], results: [...attempt.results] };
  if (caller === undefined) {
    await takeBack(context, attempt);
    await failAt(context, evaluated, { reason: 'credential_inactive' });
  } else await evaluateChecks(context, { ...context, caller }, evaluated);
  return 1;
}

/** Cancels the pending requests of an ended attempt. */
async function takeBack(context: Context, attempt: JudgedAttemptRow): Promise<void> {
  if (attempt.owns_approval && attempt.approval_id !== null)
    await withdrawApproval(context, attempt.approval_id);
  if (attempt.skill_invocation_id !== null) await withdrawCall(context, attempt.skill_invocation_id);
}

/**
 * @param acting the context of the requester of the completion, in which approvals are requested and the task is
 * completed
 */
async function evaluateChecks(context: Context, acting: Context, evaluated: EvaluatedAttempt): Promise<void> {
  const { attempt, task, checks, results } = evaluated;
  const [lookup, conditions] = [lookupOf(context, taskOf(task)), lookupOfConditions(context, taskOf(task))];
  const isWaiting = attempt.waiting_since !== null;
  const waitsForCheck = isWaiting && attempt.cursor < attempt.checks.length;
  for (;;) {
    const check = checks[results.length];
    if (check === undefined) {
      const added = addedChecks(evaluated);
      if (added.length === 0) break;
      if (checks.length + added.length > checksMax)
        return failAt(context, evaluated, {
          reason: 'expectation_not_met',
          message: 'Checks keep being added.',
        });
      checks.push(...added);
      continue;
    }
    const hasWaited = waitsForCheck && results.length === attempt.results.length;
    const isDue = hasWaited || (await allHaveValues(check.when ?? [], conditions));
    if (!isDue) {
      results.push(resultOf(check, 'skipped', { reason: 'condition_unmet' }));
      continue;
    }
    const evaluation = { attempt, task, check, results, checks, acting, lookup, hasWaited };
    const outcome = await checkEvaluators[check.kind](context, evaluation);
    if (outcome.is === 'waiting') return wait(context, evaluated, outcome, hasWaited);
    if (outcome.is === 'failed') return failAt(context, evaluated, outcome);
    results.push(resultOf(check, 'passed', outcome));
  }
  // A gate that was requested in the meantime blocks the completion, regardless of its requester.
  if (task.pending_gates > 0) return wait(context, evaluated, undefined, isWaiting && !waitsForCheck);
  if (await failRefusedCheck(context, evaluated)) return;
  const fault = await passAttempt(acting, evaluated);
  if (fault !== undefined) await failAt(context, evaluated, { reason: fault });
}

/**
 * Fails the attempt at a check whose changed subject was rejected by a person after the previous subject had been
 * approved.
 * @returns whether there is such a check
 */
async function failRefusedCheck(context: Context, evaluated: EvaluatedAttempt): Promise<boolean> {
  const { attempt, checks, results } = evaluated;
  for (const approval of await context.db.rows(findRefusedChecks(context.tenantId, attempt))) {
    const isOf = ({ key, status }: CheckResult) => key === approval.check_key && status === 'passed';
    const at = results.findIndex(isOf);
    const outcome = resultOfApproval(approval);
    const check = checks[at];
    if (check === undefined || outcome.is !== 'failed') continue;
    results[at] = resultOf(check, 'failed', outcome);
    await failAttempt(context, evaluated, { check, ...outcome });
    return true;
  }
  return false;
}

/**
 * The current checks of the task and its type that have not been evaluated, because checks added during an attempt also
 * count.
 */
function addedChecks({ task, rules, checks }: EvaluatedAttempt): AttemptCheck[] {
  const known = new Set(checks.map(canonicalJson));
  return checksOf(rules, task).filter((check) => !known.has(canonicalJson(check)));
}

async function wait(
  { db, tenantId, settings }: Context,
  { attempt, checks, results }: EvaluatedAttempt,
  outcome: Extract<CheckOutcome, { is: 'waiting' }> | undefined,
  hasWaited: boolean,
): Promise<void> {
  const status = outcome?.for ?? 'waiting_human';
  const isPerson = outcome?.for === 'waiting_human';
  const approvalId = isPerson ? outcome.approvalId : null;
  const skillInvocationId = outcome?.for === 'running' ? outcome.invocationId : null;
  const notCounted = outcome?.for === 'waiting_external' ? outcome.notCounted : [];
  const isSame =
    hasWaited &&
    attempt.status === status &&
    attempt.approval_id === approvalId &&
    attempt.skill_invocation_id === skillInvocationId &&
    attempt.cursor === results.length;
  const waitedSeconds = hasWaited && status === 'waiting_human' ? attempt.waited_seconds : 0;
  const lookAgainSeconds = Math.max(
    settings.CP_VERIFICATION_CHECK_SECONDS,
    Math.min(waitedSeconds / 10, personLookSecondsMax),
  );
  if (isSame) {
    await db.run(updateNextLook(tenantId, attempt.id, lookAgainSeconds, notCounted));
    return;
  }
  const waitGoesOn = hasWaited;
  const asked = { approvalId, skillInvocationId };
  const progress = { status, checks, results, ...asked, lookAgainSeconds, waitGoesOn, notCounted };
  await db.run(updateAttempt(tenantId, attempt.id, progress));
}

/** Fails the attempt at the current check; if all checks have passed, the failure names no check. */
async function failAt(
  context: Context,
  evaluated: EvaluatedAttempt,
  failure: { reason: FailureReason; message?: string; evidence?: string[]; notCounted?: NotCounted[] },
): Promise<void> {
  const { checks, results } = evaluated;
  const check = checks[results.length];
  if (check !== undefined) results.push(resultOf(check, 'failed', failure));
  await failAttempt(context, evaluated, { check, ...failure });
}

function resultOf(
  { key, kind, source }: AttemptCheck,
  status: CheckResult['status'],
  {
    reason = null,
    message,
    evidence = [],
    notCounted = [],
  }: { reason?: string | null; message?: string; evidence?: string[]; notCounted?: NotCounted[] },
): CheckResult {
  return {
    key,
    kind,
    source,
    status,
    evidence,
    reason,
    ...(message !== undefined && { message }),
    ...(notCounted.length > 0 && { details: { notCounted } }),
  };
}
