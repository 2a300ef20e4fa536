import { newId } from '@baton/kernel/ids';
import { Refusal } from '@baton/kernel/refusal';
import type { JsonObject } from '@baton/kernel/wire';
import { ConditionFault, holdsCondition } from '../../definitions/declared-actions/evaluate-condition.ts';
import { emit } from '../../ledger/journal/journal.ts';
import { type Caller, nobody } from '../../service/caller.ts';
import { isInSight } from '../../service/sight/sight.ts';
import type { Context } from '../context.ts';
import { type ErrorCode, errors } from '../errors.ts';
import { actOf } from '../rule-acts/acting.ts';
import { type Cause, evidenceOf, type RuleRoots, rootsOf } from '../rule-acts/cause.ts';
import { findChain } from '../rule-acts/chain.ts';
import { itemsOfAction } from '../rule-acts/rendering.ts';
import {
  type Acting,
  attemptAct,
  isUnavailable,
  requirePermission,
  type WorkItem,
  waitingReason,
} from '../rule-acts/work-item.ts';
import { isAuthorFiltered } from '../rule-documents/action.ts';
import { readsRoot } from '../rule-documents/warnings.ts';
import type { RuleRow } from '../rules/rule.ts';
import { askSkill } from './asking.ts';
import type { EvaluationResult, Finding } from './evaluation.ts';
import { ruleEvaluated } from './evaluations.events.ts';
import { insertEvaluation, updateEvaluation } from './evaluations.sql.ts';

/**
 * Looks at a cause for a rule, once: does what follows, and records it (organisation, section 8.4).
 * @param authority in whose name; undefined where that principal or credential is not active any more
 * @returns whether it was looked at; false for a cause that the rule has looked at before, or that its authority does not see
 * @throws Error of the store or of the program, and a refusal because a judge is away
 */
export async function evaluate(
  context: Context,
  rule: RuleRow,
  authority: Caller | undefined,
  cause: Cause,
): Promise<boolean> {
  const looking = actingOf(context, rule, authority, cause);
  if (!(await isInSight(looking, cause.workspaceId))) return false;
  const chainDepth = await findChain(context, cause);
  const acting: Acting = { ...begun(rule, cause), context: looking, chainDepth };
  if (!(await begin(acting))) return false;
  await finish(acting, await findingOf(acting, authority), []);
  return true;
}

function begun(rule: RuleRow, cause: Cause) {
  return { rule, cause, evaluationId: newId(), evidence: evidenceOf(cause), skillInvocationId: null };
}

/** The context of the authority; its events follow from the cause. */
export function actingOf(
  context: Context,
  rule: RuleRow,
  authority: Caller | undefined,
  { trigger }: Cause,
): Context {
  const caller = authority ?? { ...nobody, tenantId: context.tenantId };
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

/** What follows; nothing is recorded yet. */
async function findingOf(acting: Acting, authority: Caller | undefined): Promise<Finding> {
  const { context, rule, cause, chainDepth } = acting;
  if (authority === undefined) return failed('credential_inactive', {});
  const { CP_RULES_CHAIN_MAX: linksMax } = context.settings;
  if (chainDepth > linksMax) return failed('rule_loop', { links: chainDepth, max: linksMax });
  if (rule.action.target === 'task' && !isAuthorFiltered(rule.trigger))
    return { status: 'skipped', result: { reason: 'trigger_author_unfiltered' } };
  try {
    requireRights(context, rule);
    const roots = await rootsOf(context, rule, cause);
    if (!holdsCondition(rule.condition, roots)) return notMatched(false);
    if (rule.interpretation !== null) return await askSkill(acting, rule.interpretation, roots);
    return await act(acting, roots);
  } catch (error) {
    return findingOfFault(error);
  }
}

/** @throws what is no fault of the rule */
export function findingOfFault(error: unknown): Finding {
  if (error instanceof ConditionFault) return failed('rule_condition_error', { message: error.message });
  if (!(error instanceof Refusal) || isUnavailable(error)) throw error;
  return failed(error.code, error.details as JsonObject);
}

/** Does the action for each of its items. @throws ConditionFault */
export async function act(acting: Acting, roots: RuleRoots): Promise<Finding> {
  const { action } = acting.rule;
  const items = itemsOfAction(action, roots);
  if (items.length === 0) return notMatched(true);
  const work: WorkItem[] = [];
  for (const item of items) work.push(await attemptAct(acting, actOf[action.kind], item));
  return findingFrom(acting, work);
}

/** Who may not read tasks and goals does not read them by a rule. */
export function requireRights(context: Context, rule: RuleRow): void {
  if (readsRoot(rule, 'task')) requirePermission(context, 'tasks.read');
  if (readsRoot(rule, 'goal')) requirePermission(context, 'goals.read');
  if (rule.interpretation !== null) requirePermission(context, 'skills.invoke');
}

const notMatched = (conditionMatched: boolean): Finding => ({
  status: 'not_matched',
  result: { conditionMatched, work: [] },
});

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
  claim_not_released: 'The claims on the tasks did not end in time.',
};

/** What the items come to together. Some wait: so does the evaluation. */
export function findingFrom({ cause }: Pick<Acting, 'cause'>, work: WorkItem[]): Finding {
  const result = { conditionMatched: true, work };
  const waiting = work.flatMap((item, index) => (isWaiting(item) ? [index] : []));
  if (waiting.length > 0)
    return { status: 'waiting', result: { ...result, waitingFor: 'claim' }, pending: { cause, waiting } };
  if (!work.every((item) => item.failed)) return { status: 'matched', result };
  const refused = [...new Set(work.map((item) => item.refused ?? ''))];
  const code = refused.every((one) => one === 'claim_not_released')
    ? 'claim_not_released'
    : 'work_items_refused';
  return failed(code, { refused }, result);
}

const isWaiting = ({ reason, skipped, failed: isFailed }: WorkItem) =>
  reason === waitingReason && !skipped && !isFailed;

/** Records what came of a look, and tells of it when it is final. */
export async function finish(
  { context, rule, evaluationId, cause, evidence, ...acting }: Acting,
  { status, result, error, pending, skillInvocationId: asked }: Finding,
  createdBefore: readonly string[],
): Promise<void> {
  const { db, tenantId, settings, counters } = context;
  const skillInvocationId = asked ?? acting.skillInvocationId;
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
      againSeconds: status === 'waiting' ? settings.CP_RULES_SKILL_CHECK_SECONDS : null,
    }),
  );
  if (status === 'waiting') return;
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
}

/** Records that an evaluation broke each time it was tried, so that others go on. */
export async function recordBroken(
  context: Context,
  rule: RuleRow,
  authority: Caller | undefined,
  cause: Cause,
): Promise<void> {
  const looking = actingOf(context, rule, authority, cause);
  const acting: Acting = { ...begun(rule, cause), context: looking, chainDepth: 0 };
  if (await begin(acting)) await finish(acting, failed('rule_internal_error', {}), []);
}
