import { getInvocationEnd } from '../../results/invocations/request-invocation.ts';
import type { Caller } from '../../service/caller.ts';
import { type Cause, rootsOf } from '../acts/cause.ts';
import { closeTarget } from '../acts/close-work.ts';
import { type Acting, attemptAct, untouched, type WorkItem, waitingReason } from '../acts/work-item.ts';
import type { RuleRow } from '../catalog/rule.ts';
import type { Context } from '../context.ts';
import { lockAuthorities } from './authorities.ts';
import { findRuleOfEvaluation, shareRule } from './enabled-rules.sql.ts';
import {
  act,
  actingOf,
  actOnItems,
  type EvaluationOutcome,
  findingFrom,
  findingOfFault,
  finish,
  reportInactive,
  requireRights,
  turnMsMax,
} from './evaluate-rule.ts';
import { type EvaluationRow, type Finding, failed } from './evaluation.ts';
import { findEvaluation, findLeft, lockDueEvaluation, updateFailedAttempt } from './evaluations.sql.ts';
import { runInSavepoint } from './savepoint.ts';
import { cancelSkillCall, skillRootOf } from './skill-call.ts';

/**
 * Continues a pending evaluation: processes the remaining items, or ends it because its rule has changed or it has
 * timed out (docs/reference/rules.md#evaluations). Locks the acting principals, the rule, the evaluation, then tasks.
 * @returns 1, or 0 if it is no longer due or another process has locked it
 * @throws AuthorityChanged
 */
export async function continueEvaluation(context: Context, id: string): Promise<number> {
  const { db, tenantId, settings } = context;
  const before = await db.row(findEvaluation(tenantId, id));
  const known = before && (await db.row(findRuleOfEvaluation(tenantId, before.rule_id)));
  if (known === undefined) return 0;
  const authorities = await lockAuthorities(context, [known]);
  const rule = (await db.row(shareRule(tenantId, known.id))) as RuleRow;
  const secondsMax = before?.pending?.isAsking
    ? settings.CP_RULES_SKILL_WAIT_SECONDS
    : settings.CP_RULES_CLAIM_WAIT_SECONDS;
  const row = await db.row(lockDueEvaluation(tenantId, id, secondsMax));
  if (row === undefined) return 0;
  await look(context, rule, await authorities.of(rule), row, performance.now() + turnMsMax);
  return 1;
}

/**
 * Continues with the items of this cause that an earlier turn left. The turn already holds the locks of the principals
 * and the rule.
 * @returns `seen` if no items were left
 */
export async function continueItems(
  context: Context,
  rule: RuleRow,
  authority: Caller | undefined,
  { trigger }: Cause,
  untilMs: number,
): Promise<EvaluationOutcome> {
  const { db, tenantId } = context;
  const left = await db.row(findLeft(tenantId, rule.id, trigger.ref));
  if (left === undefined) return 'seen';
  const row = await db.row(lockDueEvaluation(tenantId, left.id, 0));
  return row === undefined ? 'busy' : look(context, rule, authority, row, untilMs);
}

type LockedRow = EvaluationRow & { is_over: boolean };

async function look(
  context: Context,
  rule: RuleRow,
  authority: Caller | undefined,
  row: LockedRow,
  untilMs: number,
): Promise<EvaluationOutcome> {
  const cause = row.pending?.cause as Cause;
  const acting: Acting = {
    context: actingOf(context, rule, authority, cause),
    rule,
    evaluationId: row.id,
    cause,
    evidence: row.evidence,
    chainDepth: row.chain_depth,
    skillInvocationId: row.skill_invocation_id,
    itemNumber: null,
    untilMs,
  };
  const ended = endOf(rule, row, authority !== undefined);
  if (ended === undefined) return goOn(acting, row);
  const why = ended.result.reason ?? 'credential_inactive';
  if (row.pending?.isAsking) await cancelSkillCall(acting.context, row.skill_invocation_id, why);
  return finish(acting, ended, row.created_task_ids);
}

/** The reason why the evaluation ends; undefined if it continues. */
function endOf(rule: RuleRow, { rule_version: version, result }: EvaluationRow, isActive: boolean) {
  const { waitingFor: _, ...done } = result;
  const skipped = (reason: string): Finding => ({ status: 'skipped', result: { ...done, reason } });
  if (rule.status !== 'enabled') return skipped('rule_stopped');
  if (rule.version !== version) return skipped('rule_changed');
  return isActive ? undefined : reportInactive(rule, done);
}

async function goOn(acting: Acting, row: LockedRow): Promise<EvaluationOutcome> {
  const { context } = acting;
  const { created_task_ids: created } = row;
  let became: EvaluationOutcome = 'busy';
  const broke = await runInSavepoint(context, async () => {
    became = await finish(acting, await findingOf(acting, row), created);
  });
  if (broke === undefined) return became;
  const { db, tenantId, settings, log } = context;
  const failures = row.failures + 1;
  log.error({ err: broke.error, tenantId, evaluationId: row.id, failures }, 'work rule evaluation failed');
  if (failures >= settings.CP_RULES_MAX_ATTEMPTS) {
    const { waitingFor: _, ...done } = row.result;
    return finish(acting, failed('rule_internal_error', {}, done), created);
  }
  await db.run(updateFailedAttempt(tenantId, row.id, settings.CP_RULES_SKILL_CHECK_SECONDS));
  return 'busy';
}

/** Uses the result of the skill call, or keeps waiting while the call is pending. */
async function interpreted(acting: Acting, row: LockedRow): Promise<Finding> {
  const { context, rule, cause, skillInvocationId } = acting;
  const end = skillInvocationId === null ? undefined : await getInvocationEnd(context, skillInvocationId);
  const isLive = end?.status === 'pending' || end?.status === 'running';
  if (isLive && row.is_over) {
    await cancelSkillCall(context, skillInvocationId, 'rule_skill_wait_expired');
    return failed('rule_skill_wait_expired', {}, asked);
  }
  if (isLive) return { status: 'waiting', result: row.result, ...(row.pending && { pending: row.pending }) };
  if (end?.status !== 'succeeded')
    return failed(
      'rule_skill_failed',
      { code: end?.error?.code ?? null, status: end?.status ?? null },
      asked,
    );
  try {
    const roots = await rootsOf(context, rule, cause);
    return await act(acting, { ...roots, skill: skillRootOf(end) });
  } catch (error) {
    return findingOfFault(error);
  }
}

const asked = { conditionMatched: true, work: [] };

/** The items left over from a turn, with the values of the roots at evaluation. */
async function leftDone(acting: Acting, { result, pending }: LockedRow): Promise<Finding> {
  const { context, rule, cause } = acting;
  const { roots = {}, items = [] } = pending?.left ?? {};
  const { waitingFor: _, ...done } = result;
  try {
    requireRights(context, rule);
  } catch (error) {
    return findingOfFault(error, done);
  }
  const common = { ...roots, trigger: cause.trigger, payload: cause.payload };
  const left = items.map((item) => ({ ...common, item }));
  return actOnItems(acting, left, result.work ?? []);
}

async function findingOf(acting: Acting, row: LockedRow): Promise<Finding> {
  if (row.pending?.isAsking) return interpreted(acting, row);
  if (row.pending?.left !== undefined) return leftDone(acting, row);
  const work: WorkItem[] = [...(row.result.work ?? [])];
  for (const index of row.pending?.waiting ?? []) {
    const item = work[index] as WorkItem;
    const { taskId, dedupKey } = item;
    const now = await attemptAct(acting, () => closeTarget(acting, { taskId, dedupKey }), {});
    const isHeld = now.reason === waitingReason && !now.skipped;
    work[index] =
      isHeld && row.is_over
        ? { ...untouched, taskId, dedupKey, failed: true, refused: 'claim_not_released' }
        : { ...now, taskId, dedupKey };
  }
  return findingFrom(acting, work);
}
