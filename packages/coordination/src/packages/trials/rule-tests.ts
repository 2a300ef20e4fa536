import { z } from 'zod';
import { Refusal } from '@baton/kernel/http/refusal';
import { activityId } from '@baton/process-engine/engine/ids/activity-ids';
import type { Json, JsonObject } from '@baton/values/wire';
import { ConditionFault, holdsCondition } from '../../definitions/declared-actions/evaluate-condition.ts';
import type { EventRow } from '../../ledger/journal/event.ts';
import { type Cause, causeOfEvent, evidenceOf, isCausedBy, type RuleRoots } from '../../rules/acts/cause.ts';
import {
  dedupKeyOf,
  type ItemOfCause,
  itemsOfAction,
  newTaskOf,
  renderFields,
  renderRefs,
  renderTaskType,
} from '../../rules/acts/render-action.ts';
import { ActRefused } from '../../rules/acts/work-item.ts';
import type { RuleRow } from '../../rules/catalog/rule.ts';
import { closingKinds, creatingKinds } from '../../rules/documents/action.ts';
import type { RuleDocuments } from '../../rules/documents/rule-documents.ts';
import { renderText } from '../../rules/documents/template.ts';
import { readsRoot } from '../../rules/documents/warnings.ts';
import { Coverage, coverageOf } from './coverage.ts';
import { type Created, type EngineTime, NotSimulated, type Outcome } from './outcome.ts';
import type { TestStep } from './test-document.ts';

/** Tests of a work rule, with the evaluation of a dry run (docs/reference/packages.md#tests). */

export const RuleCoverage = z
  .strictObject({ key: z.string(), outcomes: Coverage })
  .meta({ id: 'PackageRuleCoverage' });

export interface SimulatedRule {
  readonly rule: RuleRow;
  readonly reached: Set<string>;
}

const textMax = 200;

/** A rule of a package, treated as if it existed. */
export function simulateRule(key: string, documents: RuleDocuments): SimulatedRule {
  const place = { workspace_id: null, goal_id: null };
  const rule = { id: activityId('rule', key, 1), key, version: 1, ...place, ...documents };
  return { rule: rule as unknown as RuleRow, reached: new Set() };
}

/**
 * The results of the rule's tests. The rule is covered if the tests include both an event for which it acts and one for
 * which it doesn't.
 */
export function coverageOfRule({ rule, reached }: SimulatedRule): z.infer<typeof RuleCoverage> {
  const mayHoldBack = rule.condition !== true || rule.action.forEach !== undefined;
  const all = new Set(['matched', ...(mayHoldBack ? ['not_matched'] : [])]);
  return { key: rule.key, outcomes: coverageOf(all, reached) };
}

/** One test of a rule. Tasks that it creates stay open under their keys for the following steps. */
export class RuleTest {
  readonly #rule: RuleRow;
  readonly #reached: Set<string>;
  readonly #now: string;
  readonly #time: EngineTime;
  readonly #openKeys = new Set<string>();
  #events = 0;

  constructor({ rule, reached }: SimulatedRule, now: string, time: EngineTime) {
    this.#rule = rule;
    this.#reached = reached;
    this.#now = now;
    this.#time = time;
  }

  *step({ evaluate }: TestStep): Generator<void, Outcome> {
    if (evaluate === undefined) throw new NotSimulated('the schedule of a rule');
    const { event } = evaluate;
    const cause = causeOfEvent(this.#eventRowOf(event));
    const nothing = { created: [], problems: [], refused: null };
    const { actorId } = cause.trigger;
    const authors = new Map(actorId === null || event.agent === undefined ? [] : [[actorId, event.agent]]);
    if (!isCausedBy(this.#rule, cause, authors)) return { status: 'not_triggered', ...nothing };
    const outcome = yield* this.#time.run(() => this.#lookAt(cause, event));
    if (outcome.status !== null) this.#reached.add(outcome.status === 'waiting' ? 'matched' : outcome.status);
    return outcome;
  }

  #eventRowOf({
    type,
    payload,
    entityType,
    entityId,
    actorId,
    agent,
    workspaceId,
  }: NonNullable<TestStep['evaluate']>['event']): EventRow {
    this.#events += 1;
    const id = activityId('test', this.#rule.key, this.#events, 'event');
    const [ofType = ''] = type.split('.');
    return {
      id,
      type,
      payload,
      entity_type: entityType ?? ofType,
      entity_id: entityId ?? activityId(id, type, 1, 'entity'),
      actor_id: actorId ?? (agent === undefined ? null : activityId('agent', agent, 1)),
      workspace_id: workspaceId ?? null,
      occurred_at: this.#now,
      correlation_id: null,
    } as unknown as EventRow;
  }

  #rootsOf(
    cause: Cause,
    { task, goal }: { task?: JsonObject | undefined; goal?: JsonObject | undefined },
  ): RuleRoots {
    for (const [name, given] of Object.entries({ task, goal }))
      if (given === undefined && readsRoot(this.#rule, name))
        throw new NotSimulated(`the rule reads ${name}, which the event of the step doesn't have`);
    return { trigger: cause.trigger, payload: cause.payload, task: task ?? null, goal: goal ?? null };
  }

  /** Evaluates the rule for a cause; if that throws, no changes are kept. */
  #lookAt(cause: Cause, given: { task?: JsonObject | undefined; goal?: JsonObject | undefined }): Outcome {
    const rule = this.#rule;
    const nothing = { created: [], problems: [], refused: null };
    try {
      const roots = this.#rootsOf(cause, given);
      if (!holdsCondition(rule.condition, roots)) return { status: 'not_matched', ...nothing };
      this.#time.check();
      if (rule.interpretation !== null) {
        const why = 'the rule calls a skill first, which tests cannot call';
        return { status: 'waiting', ...nothing, unknown: { names: ['created'], why } };
      }
      const items = itemsOfAction(rule.action, roots);
      if (items.length === 0) return { status: 'not_matched', ...nothing };
      return this.#act(cause, items);
    } catch (error) {
      if (error instanceof ConditionFault)
        return { status: 'failed', ...nothing, refused: 'rule_condition_error' };
      if (error instanceof Refusal) return { status: 'failed', ...nothing, refused: error.code };
      throw error;
    }
  }

  #act(cause: Cause, items: readonly RuleRoots[]): Outcome {
    const created: Created[] = [];
    const problems: string[] = [];
    const openKeys = new Set(this.#openKeys);
    for (const [index, item] of items.entries()) {
      this.#time.check();
      try {
        const itemNumber = this.#rule.action.forEach === undefined ? null : index + 1;
        created.push(...this.#actOn({ rule: this.#rule, cause, itemNumber }, item, openKeys));
      } catch (error) {
        if (!(error instanceof ActRefused)) throw error;
        problems.push(error.code);
      }
    }
    this.#openKeys.clear();
    for (const key of openKeys) this.#openKeys.add(key);
    if (problems.length === items.length)
      return { status: 'failed', created, problems, refused: 'work_items_refused' };
    return { status: 'matched', created, problems, refused: null };
  }

  #actOn(item: ItemOfCause, roots: RuleRoots, openKeys: Set<string>): Created[] {
    const { rule, cause } = item;
    const { action } = rule;
    if (action.target === 'task') return [{ kind: 'change', action: action.kind, taskId: cause.taskId }];
    const dedupKey = dedupKeyOf(item, roots);
    if (!creatingKinds.includes(action.kind)) {
      if (!openKeys.has(dedupKey)) return [];
      if (closingKinds.includes(action.kind)) openKeys.delete(dedupKey);
      const changed = action.kind === 'update_work' ? renderFields(action, roots) : {};
      return [{ kind: 'change', action: action.kind, dedupKey, ...(changed as JsonObject) }];
    }
    if (openKeys.has(dedupKey)) return [];
    const fields = renderFields(action, roots);
    const taskType = renderTaskType(action, roots);
    const { ref } = cause.trigger;
    newTaskOf({
      workspaceId: cause.workspaceId,
      ...fields,
      typeKey: taskType,
      origin: { kind: 'rule', ruleId: rule.id, ref, evidence: evidenceOf(cause) },
      acceptance: action.acceptance ?? [],
    });
    const { spawnedBy, dependsOn } = action.fields?.relations ?? {};
    const relations = {
      spawnedBy: renderRefs(spawnedBy, roots, 1),
      dependsOn: renderRefs(dependsOn, roots, 50),
    };
    openKeys.add(dedupKey);
    const task = { kind: 'task', dedupKey, taskType, ...(fields as JsonObject), ...relations } as Created;
    return action.kind === 'request_decision' ? [task, this.#decisionOf(roots)] : [task];
  }

  #decisionOf(roots: RuleRoots): Created {
    const { approver, approverRole } = this.#rule.action.fields ?? {};
    const asText = (text: string | undefined): Json =>
      text === undefined ? null : renderText(text, roots, textMax).trim();
    return { kind: 'approval', approver: asText(approver), approverRole: asText(approverRole) };
  }
}
