import { Refusal } from '@baton/kernel/http/refusal';
import { newId } from '@baton/values/ids';
import type { JsonObject } from '@baton/values/wire';
import type { CredentialSnapshot } from '../../access/authn/credential-snapshot.ts';
import { ConditionFault, holdsCondition } from '../../definitions/declared-actions/evaluate-condition.ts';
import { emit } from '../../ledger/journal/journal.ts';
import { type Caller, nobody } from '../../service/caller.ts';
import { isInSight } from '../../service/sight/sight.ts';
import { actionHandlers } from '../acts/action-handlers.ts';
import { type Cause, evidenceOf, type RuleRoots, rootsOf } from '../acts/cause.ts';
import { findChain } from '../acts/chain.ts';
import { itemsOfAction } from '../acts/render-action.ts';
import {
  type Acting,
  attemptAct,
  isUnavailable,
  requirePermission,
  type WorkItem,
  waitingReason,
} from '../acts/work-item.ts';
import type { RuleRow } from '../catalog/rule.ts';
import type { Context } from '../context.ts';
import { isAuthorFiltered } from '../documents/action.ts';
import { readsEvents, readsRoot } from '../documents/warnings.ts';
import { limitSight } from './authorities.ts';
import { type EvaluationResult, type Finding, failed, waitingLimit } from './evaluation.ts';
import { ruleEvaluated } from './evaluations.events.ts';
import { insertEvaluation, updateEvaluation } from './evaluations.sql.ts';
import { isPendingLimitReached } from './evaluations.ts';
import { callSkill } from './skill-call.ts';

/**
 * Maximum time that one transaction spends on items and evaluations: readers of every tenant's journal wait for its
 * end.
 */
export const turnMsMax = 500;

/**
 * The outcome of an evaluation attempt: undefined for a cause that the authority may not see; `seen` for a cause that
 * the rule has already evaluated; `left` if items remain for the next turn; `busy` if another process or a later turn
 * will continue.
 */
export type EvaluationOutcome = 'none' | 'seen' | 'done' | 'left' | 'busy';

/**
 * Evaluates a rule for a cause, once: runs the action and records the result (docs/reference/rules.md#evaluations).
 * @param authority undefined if that principal or credential is no longer active
 * @param untilMs the time by `performance.now()` after which the remaining items are left to a later turn; one is
 * always processed
 * @throws Error of the store or of the program, and a refusal because external authorization is unavailable
 */
export async function evaluateRule(
  context: Context,
  rule: RuleRow,
  authority: Caller | undefined,
  cause: Cause,
  untilMs: number,
): Promise<EvaluationOutcome> {
  const looking = actingOf(context, rule, authority, cause);
  if (!(await isInSight(looking, cause.workspaceId))) return 'none';
  const chainDepth = await findChain(context, cause);
  const acting: Acting = { ...begun(rule, cause), context: looking, chainDepth, untilMs };
  if (!(await begin(acting))) return 'seen';
  return finish(acting, await findingOf(acting, authority), []);
}

function begun(rule: RuleRow, cause: Cause) {
  return {
    rule,
    cause,
    evaluationId: newId(),
    evidence: evidenceOf(cause),
    skillInvocationId: null,
    itemNumber: null,
  };
}

/** The context in which the rule's authority acts: events that it emits refer to the cause. */
export function actingOf(
  context: Context,
  rule: RuleRow,
  authority: Caller | undefined,
  { trigger }: Cause,
): Context {
  // An inactive authority keeps its visibility: the failed evaluation must not reveal objects that the principal may
  // not see.
  const caller =
    authority ?? limitSight({ ...nobody, tenantId: context.tenantId }, rule.authority as CredentialSnapshot);
  const causationId = trigger.eventId === null ? {} : { causationId: trigger.eventId };
  return { ...context, caller, correlationId: `work-rule:${rule.id}`, ...causationId };
}

async function begin({ context, rule, evaluationId, cause, evidence, chainDepth }: Acting): Promise<boolean> {
  const row = await context.db.row(
    insertEvaluation({
      id: evaluationId,
      tenant_id: context.tenantId,
      workspace_id: rule.workspace_id,
      rule_id: rule.id,
      rule_version: rule.version,
      trigger_ref: cause.trigger.ref,
      trigger_event_id: cause.trigger.eventId,
      evidence: [...evidence],
      chain_depth: chainDepth,
    }),
  );
  return row !== undefined;
}

/** Evaluates the condition and runs the action, without recording the outcome. */
async function findingOf(acting: Acting, authority: Caller | undefined): Promise<Finding> {
  const { context, rule, cause, chainDepth } = acting;
  if (authority === undefined) return reportInactive(rule);
  const { CP_RULES_CHAIN_MAX: linksMax } = context.settings;
  if (chainDepth > linksMax) return failed('rule_loop', { links: chainDepth, max: linksMax });
  if (rule.action.target === 'task' && !isAuthorFiltered(rule.trigger))
    return { status: 'skipped', result: { reason: 'trigger_author_unfiltered' } };
  try {
    requireRights(context, rule);
    const roots = await rootsOf(context, rule, cause);
    if (!holdsCondition(rule.condition, roots)) return notMatched(false);
    if (rule.interpretation !== null) return await callSkill(acting, rule.interpretation, roots);
    return await act(acting, roots);
  } catch (error) {
    return findingOfFault(error);
  }
}

/**
 * Records the failure of a rule without an authority: the principal who enabled it is inactive, or its agent can't act.
 */
export function reportInactive({ identity_agent: agent }: RuleRow, result: EvaluationResult = {}): Finding {
  return failed('credential_inactive', agent === null ? {} : { agent }, result);
}

/** @param result the results of the items before the failure @throws errors that the rule didn't cause */
export function findingOfFault(error: unknown, result: EvaluationResult = {}): Finding {
  if (error instanceof ConditionFault)
    return failed('rule_condition_error', { message: error.message }, result);
  if (!(error instanceof Refusal) || isUnavailable(error)) throw error;
  return failed(error.code, error.details as JsonObject, result);
}

/** Runs the action for each of its items until the deadline. @throws ConditionFault */
export async function act(acting: Acting, roots: RuleRoots): Promise<Finding> {
  const items = itemsOfAction(acting.rule.action, roots);
  return items.length === 0 ? notMatched(true) : actOnItems(acting, items, []);
}

/**
 * @param items the roots of each remaining item
 * @param before the results of the earlier items
 */
export async function actOnItems(
  acting: Acting,
  items: readonly RuleRoots[],
  before: readonly WorkItem[],
): Promise<Finding> {
  const { context, rule, cause, evaluationId } = acting;
  const work = [...before];
  for (const [index, item] of items.entries()) {
    if (index > 0 && performance.now() > acting.untilMs) return leave(cause, items.slice(index), work);
    // The items that an earlier turn has processed are first.
    const itemNumber = rule.action.forEach === undefined ? null : before.length + index + 1;
    work.push(await attemptAct({ ...acting, itemNumber }, actionHandlers[rule.action.kind], item));
  }
  const isFull = work.some(isWaiting) && (await isPendingLimitReached(context, rule, evaluationId));
  return findingFrom(acting, isFull ? work.map(refuseWaiting) : work);
}

/** Leaves the remaining items to the next turn, with the current values of the roots. */
function leave(cause: Cause, items: readonly RuleRoots[], work: WorkItem[]): Finding {
  const { trigger: _, payload: __, item: ___, ...roots } = items[0] as RuleRoots;
  const left = { roots, items: items.map(({ item = null }) => item) };
  return {
    status: 'waiting',
    result: { conditionMatched: true, work, waitingFor: 'turn' },
    pending: { cause, waiting: [], left },
  };
}

const refuseWaiting = (item: WorkItem): WorkItem =>
  isWaiting(item) ? { ...item, reason: null, failed: true, refused: waitingLimit } : item;

/** A rule doesn't let its authority read a journal, tasks or goals that it may not read directly. */
export function requireRights(context: Context, rule: RuleRow): void {
  if (readsEvents(rule)) requirePermission(context, 'events.read');
  if (readsRoot(rule, 'task')) requirePermission(context, 'tasks.read');
  if (readsRoot(rule, 'goal')) requirePermission(context, 'goals.read');
  if (rule.interpretation !== null) requirePermission(context, 'skills.invoke');
}

const notMatched = (conditionMatched: boolean): Finding => ({
  status: 'not_matched',
  result: { conditionMatched, work: [] },
});

/** The combined outcome of all items. The evaluation is pending while any item is pending. */
export function findingFrom({ cause }: Pick<Acting, 'cause'>, work: WorkItem[]): Finding {
  const result = { conditionMatched: true, work };
  const waiting = work.flatMap((item, index) => (isWaiting(item) ? [index] : []));
  if (waiting.length > 0)
    return { status: 'waiting', result: { ...result, waitingFor: 'claim' }, pending: { cause, waiting } };
  if (!work.every((item) => item.failed)) return { status: 'matched', result };
  const refused = [...new Set(work.map((item) => item.refused ?? ''))];
  const [code = ''] = refused;
  const isOfWait = refused.length === 1 && ['claim_not_released', waitingLimit].includes(code);
  return failed(isOfWait ? code : 'work_items_refused', { refused }, result);
}

const isWaiting = ({ reason, skipped, failed: isFailed }: WorkItem) =>
  reason === waitingReason && !skipped && !isFailed;

/** What an evaluation waits for: the end of claims on tasks, or of a skill call. */
function waitedFor({ result, pending }: Finding, skillInvocationId: string | null): string[] {
  if (pending?.isAsking) return skillInvocationId === null ? [] : [skillInvocationId];
  return (pending?.waiting ?? []).flatMap((index) => result.work?.[index]?.taskId ?? []);
}

/** Records the outcome, and emits its event when it is final. */
export async function finish(
  { context, rule, evaluationId, cause, evidence, ...acting }: Acting,
  finding: Finding,
  createdBefore: readonly string[],
): Promise<'done' | 'left'> {
  const { status, result, error, pending, skillInvocationId: asked } = finding;
  const { db, tenantId, settings, counters } = context;
  const skillInvocationId = asked ?? acting.skillInvocationId;
  const isLeft = pending?.left !== undefined;
  const work = result.work ?? [];
  const created = work.flatMap((item) => (item.created && item.taskId !== null ? [item.taskId] : []));
  await db.run(
    updateEvaluation(tenantId, evaluationId, {
      status,
      result,
      created_task_ids: [...new Set([...createdBefore, ...created])],
      error: error ?? null,
      pending: pending ?? null,
      skill_invocation_id: skillInvocationId,
      waits_for: waitedFor(finding, skillInvocationId),
      againSeconds: status !== 'waiting' ? null : isLeft ? 0 : settings.CP_RULES_SKILL_CHECK_SECONDS,
    }),
  );
  if (status === 'waiting') return isLeft ? 'left' : 'done';
  const { kind, type } = cause.trigger;
  context.afterCommit.push(() => counters.ruleEvaluations.inc({ result: status }));
  emit(
    context,
    ruleEvaluated,
    { entityId: rule.id, workspaceId: rule.workspace_id },
    {
      ruleId: rule.id,
      ruleKey: rule.key,
      ruleVersion: rule.version,
      evaluationId,
      triggerRef: cause.trigger.ref,
      trigger: { kind, type },
      result: status,
      conditionMatched: result.conditionMatched ?? false,
      evidence: [...evidence],
      skillInvocationId,
      work,
      ...(error !== undefined && { error: { code: error.code } }),
    },
  );
  return 'done';
}

/** Records that an evaluation failed at every attempt, so that the turn can continue with other evaluations. */
export async function recordFailure(
  context: Context,
  rule: RuleRow,
  authority: Caller | undefined,
  cause: Cause,
): Promise<void> {
  const looking = actingOf(context, rule, authority, cause);
  const acting: Acting = { ...begun(rule, cause), context: looking, chainDepth: 0, untilMs: 0 };
  if (await begin(acting)) await finish(acting, failed('rule_internal_error', {}), []);
}
