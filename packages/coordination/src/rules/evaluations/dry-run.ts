import { setImmediate } from 'node:timers/promises';
import { z } from 'zod';
import { Refusal } from '@baton/kernel/http/refusal';
import { ConcurrencyLimit } from '@baton/kernel/limits/concurrency-limit';
import { InstantInput, type JsonObject } from '@baton/values/wire';
import { ConditionFault, holdsCondition } from '../../definitions/declared-actions/evaluate-condition.ts';
import type { JournalPosition } from '../../ledger/journal/cursor.ts';
import type { EventRow } from '../../ledger/journal/event.ts';
import { typePatternsOf } from '../../ledger/journal/event-types.ts';
import { everyEvent, readPageBefore } from '../../ledger/journal/read-pages.ts';
import { permittedIds } from '../../service/permissions.ts';
import { viewerOf } from '../../service/sight/sight.ts';
import {
  type Cause,
  causeOfEvent,
  causeOfSchedule,
  findAuthors,
  isCausedBy,
  rootsOf,
} from '../acts/cause.ts';
import {
  dedupKeyOf,
  type ItemOfCause,
  itemsOfAction,
  renderFields,
  renderTaskType,
} from '../acts/render-action.ts';
import { ActRefused, isUnavailable } from '../acts/work-item.ts';
import { RuleRequest, type RuleRow } from '../catalog/rule.ts';
import { checkRule } from '../catalog/rules.ts';
import type { Context } from '../context.ts';
import { creatingKinds } from '../documents/action.ts';
import { readsRoot } from '../documents/warnings.ts';
import { findActingAgent, limitSight } from './authorities.ts';
import { requireRights } from './evaluate-rule.ts';
import { evaluationStatuses } from './evaluation.ts';
import { mayCauseRules } from './turn.ts';

const limitMax = 200;
const pageEvents = 200;
/** Maximum number of journal pages searched for causes. */
const pagesMax = 10;
const shownItemsMax = 10;
/**
 * Maximum time of the evaluations: 200 of the most expensive kind would take 10 s on a processor that all tenants
 * share.
 */
const lookMsMax = 1000;

export const RuleDryRun = RuleRequest.extend({
  since: InstantInput.nullish(),
  limit: z.int().min(1).max(limitMax).default(50),
}).meta({ id: 'RuleDryRun' });
export type RuleDryRun = z.output<typeof RuleDryRun>;

const WouldDo = z.strictObject({
  action: z.string(),
  items: z.int(),
  work: z
    .array(
      z.strictObject({
        dedupKey: z.string().nullable(),
        taskId: z.string().nullable(),
        taskType: z.string().nullable(),
        title: z.string().nullable(),
        priority: z.string().nullable(),
        refused: z.string().nullable(),
      }),
    )
    .max(shownItemsMax),
});

export const RuleDryRunResults = z
  .strictObject({
    results: z
      .array(
        z.strictObject({
          triggerRef: z.string(),
          status: z.enum(evaluationStatuses),
          reason: z.string().optional(),
          would: WouldDo.optional(),
        }),
      )
      .max(limitMax),
  })
  .meta({ id: 'RuleDryRunResults' });
export type DryRun = z.infer<typeof RuleDryRunResults>;
type Results = DryRun['results'];

/** A dry run takes up to a second on a processor that all tenants share. */
const turns = new ConcurrencyLimit('dry-runs of the tenant', {
  runningMax: 2,
  queuedMax: 10,
  waitMsMax: 5000,
});

/**
 * Runs `dryRunRule` when the tenant has a free slot.
 * @throws Refusal 503 `unavailable` if too many requests wait, and those of `dryRunRule`
 */
export function dryRunInTurn(context: Context, request: RuleDryRun): Promise<DryRun> {
  return turns.run(context.tenantId, () => dryRunRule(context, request));
}

/**
 * Simulates a rule for the newest causes that the caller sees, with the current tasks and goals
 * (docs/reference/rules.md#operations). It searches at most 2,000 events, for at most a second, and writes nothing.
 * @throws Refusal those of `checkRule`
 */
async function dryRunRule(context: Context, request: RuleDryRun): Promise<DryRun> {
  const { documents, identityAgent } = await checkRule(context, request);
  const { key, workspaceId = null, goalId = null } = request;
  const place = { workspace_id: workspaceId, goal_id: goalId };
  const as = { identity_agent: identityAgent };
  const rule = { id: '', key, version: 1, ...place, ...as, ...documents } as unknown as RuleRow;
  const causes =
    rule.trigger.kind === 'schedule'
      ? [causeOfSchedule(rule, Math.floor(Date.now() / 1000))]
      : await findCauses(context, rule, request);
  // If external authorization decides on each task, one request covers all of them.
  const acting = await contextOf(context, rule);
  const tasks = new Set(causes.flatMap(({ taskId }) => taskId ?? []));
  if (acting !== undefined && tasks.size > 0 && readsRoot(rule, 'task'))
    permittedIds(acting.caller.permissions, 'tasks.read', 'task', [...tasks]);
  const results: Results = [];
  const untilMs = performance.now() + lookMsMax;
  for (const cause of causes) {
    if (results.length > 0 && performance.now() > untilMs) break;
    results.push({ triggerRef: cause.trigger.ref, ...(await lookAt(acting, rule, cause)) });
    await setImmediate();
  }
  return { results };
}

/**
 * The identity that the rule would act as: the caller, or its agent with the caller's visibility. Undefined if that
 * agent can't act.
 */
async function contextOf(context: Context, { identity_agent: key, workspace_id: place }: RuleRow) {
  if (key === null) return context;
  const agent = await findActingAgent(context, key, place);
  return agent && { ...context, caller: limitSight(agent, context.caller) };
}

/** The newest events that trigger the rule, newest first. */
async function findCauses(context: Context, rule: RuleRow, { since, limit }: RuleDryRun): Promise<Cause[]> {
  const { db, tenantId } = context;
  const type = rule.trigger.kind === 'event' ? rule.trigger.type : 'observation.recorded';
  const viewerId = await viewerOf(context);
  const filter = { ...everyEvent, typePatterns: typePatternsOf([type]), viewerId };
  const causes: Cause[] = [];
  let before: JournalPosition | undefined;
  for (let page = 0; page < pagesMax && causes.length < limit; page += 1) {
    const { rows, previous } = await readPageBefore(db, before, { tenantId, filter, limit: pageEvents });
    const authors = await findAuthors(context, [rule], rows);
    for (const row of rows.toReversed()) {
      if (since != null && row.occurred_at < since) return causes;
      const cause = causeOfEvent(row);
      if (row.type === type && isInReach(rule, row) && mayCauseRules(row) && isCausedBy(rule, cause, authors))
        causes.push(cause);
      if (causes.length === limit) return causes;
    }
    if (previous === undefined) break;
    before = previous;
  }
  return causes;
}

const isInReach = ({ workspace_id: place }: RuleRow, row: EventRow) =>
  place === null || row.workspace_id === null || row.workspace_id === place;

async function lookAt(
  context: Context | undefined,
  rule: RuleRow,
  cause: Cause,
): Promise<Omit<Results[number], 'triggerRef'>> {
  if (context === undefined) return { status: 'failed', reason: 'credential_inactive' };
  try {
    requireRights(context, rule);
    const roots = await rootsOf(context, rule, cause);
    if (!holdsCondition(rule.condition, roots)) return { status: 'not_matched' };
    if (rule.interpretation !== null) return { status: 'waiting', reason: 'interpretation' };
    const items = itemsOfAction(rule.action, roots);
    if (items.length === 0) return { status: 'not_matched', reason: 'no_items' };
    const work = items
      .slice(0, shownItemsMax)
      .map((item, index) =>
        render({ rule, cause, itemNumber: rule.action.forEach === undefined ? null : index + 1 }, item),
      );
    return { status: 'matched', would: { action: rule.action.kind, items: items.length, work } };
  } catch (error) {
    if (error instanceof ConditionFault) return { status: 'failed', reason: 'rule_condition_error' };
    if (!(error instanceof Refusal) || isUnavailable(error)) throw error;
    return { status: 'failed', reason: error.code };
  }
}

function render(item: ItemOfCause, roots: JsonObject) {
  const { rule, cause } = item;
  const { action } = rule;
  const nothing = {
    dedupKey: null,
    taskId: null,
    taskType: null,
    title: null,
    priority: null,
    refused: null,
  };
  try {
    const isOfTask = action.target === 'task';
    const { title = null, priority = null } = renderFields(action, roots);
    return {
      ...nothing,
      dedupKey: isOfTask ? null : dedupKeyOf(item, roots),
      taskId: isOfTask ? cause.taskId : null,
      taskType: creatingKinds.includes(action.kind) ? renderTaskType(action, roots) : null,
      title,
      priority,
    };
  } catch (error) {
    if (!(error instanceof ActRefused)) throw error;
    return { ...nothing, refused: error.code };
  }
}
