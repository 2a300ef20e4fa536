import type { Json, JsonObject } from '@baton/values/wire';
import type { DecisionTable } from '../language/definition.ts';
import type { Due, Escalation } from '../language/forms.ts';
import type { Recall, Remember, Step, StepKind } from '../language/step.ts';
import { isAnchor } from './anchor.ts';
import { openCall, waitedForBy } from './calls.ts';
import { completeInstance, suspendNow } from './endings.ts';
import { activityId } from './ids/activity-ids.ts';
import type { Input } from './inputs.ts';
import { durationMs, type Machine, ProcessFault, type Roots } from './machine.ts';
import { cancelSequence, failElement, finish, payloadOfEntered, startList, undoNext } from './sequences.ts';
import type { ElementNode, EventRoot } from './state.ts';
import { beginDeadline, instantOf, schedule } from './timers.ts';

/** The behaviour of each kind of step when it is reached (docs/reference/processes.md#steps). */

const characters = { title: 500, reason: 500, detail: 4000, comment: 4000, content: 65_536, fact: 1000 };
/** The default timeout of a recall. */
export const recallTimeout = 'PT1M';

type Enter = (m: Machine, node: ElementNode, step: Step) => void;

const kinds: Record<StepKind, Enter> = {
  human: enterHuman,
  approve: enterApprove,
  call: enterCall,
  decide(m, node, { decide }) {
    emitEntered(m, node);
    const table = m.definition.spec.decisions.find(({ id }) => id === decide?.table) as DecisionTable;
    finish(m, node, decideBy(m, node, table));
  },
  wait(m, node, { wait }) {
    node.waitsFor = 'timer';
    const when =
      typeof wait === 'string'
        ? { dueAt: new Date(m.nowMs + durationMs(wait)).toISOString(), unit: 'wall' as const }
        : { dueAt: instantOf(m, wait?.at ?? 'null'), unit: 'instant' as const };
    schedule(m, node, 'wait', 0, when);
    emitEntered(m, node);
  },
  set(m, node, { set = {} }) {
    emitEntered(m, node);
    m.write(m.evaluateAll(set, m.rootsIn(node)), node.id);
    finish(m, node, null);
  },
  listen(m, node, { listen }) {
    node.waitsFor = 'event';
    if (listen?.timeout !== undefined) scheduleTimeout(m, node, listen.timeout);
    emitEntered(m, node);
  },
  raise(m, node, { raise }) {
    emitEntered(m, node);
    const { type = 'error', status = null, detail } = raise ?? {};
    const said =
      detail === undefined ? null : m.tools.render(detail, m.rootsIn(node)).slice(0, characters.detail);
    failElement(m, node, { type, status, detail: said });
  },
  compensate(m, node, { compensate = 'all' }) {
    node.waitsFor = 'steps';
    emitEntered(m, node);
    node.undoing = m.state.undoable.filter(
      ({ element }) => compensate === 'all' || compensate.includes(element),
    );
    undoNext(m, node);
  },
  fork(m, node, { fork }) {
    node.waitsFor = 'steps';
    emitEntered(m, node);
    for (const n of fork?.branches.keys() ?? [])
      startList(m, `${node.id}/fork/branches/${n}/do`, node.id, node.stage);
  },
  try(m, node) {
    node.waitsFor = 'steps';
    emitEntered(m, node);
    startList(m, `${node.id}/try/do`, node.id, node.stage);
  },
  do(m, node) {
    node.waitsFor = 'steps';
    emitEntered(m, node);
    startList(m, `${node.id}/do`, node.id, node.stage);
  },
  recall: enterRecall,
  remember(m, node) {
    node.waitsFor = 'memory';
    openStep(m, node);
  },
  complete(m, node, { complete }) {
    emitEntered(m, node);
    finish(m, node, null);
    completeInstance(m, complete?.outcome ?? null);
  },
  suspend(m, node, { suspend }) {
    emitEntered(m, node);
    finish(m, node, null);
    suspendNow(m, 'event', suspend?.reason ?? null);
  },
  // Only an event can resume a suspended instance, and it has already done so when it started this list
  // (`isResumedBy`). In a running instance, this step does nothing.
  resume(m, node) {
    emitEntered(m, node);
    finish(m, node, null);
  },
};

export function enterKind(m: Machine, node: ElementNode, step: Step): void {
  kinds[node.stepKind as StepKind](m, node, step);
}

export function emitEntered(m: Machine, node: ElementNode): void {
  m.note('state', node.id, 'entered', { attempt: node.attempt });
  m.tell('process.step_entered', payloadOfEntered(node));
}

/** Opens the object that a step waits for, or opens it again after a refusal. */
export function openStep(m: Machine, node: ElementNode): void {
  const step = m.step(node.id);
  if (step.human !== undefined) openTask(m, node, step);
  if (step.approve !== undefined) {
    const approvers = evaluated(m, node, step.approve.approvers);
    m.effect({ kind: 'find_voters', element: node.id, approvers });
    node.isFindingVoters = true;
  }
  if (step.call !== undefined) openCall(m, node, step.call);
  if (step.recall !== undefined) openRecall(m, node, step.recall);
  if (step.remember !== undefined) openObservation(m, node, step.remember);
}

function enterHuman(m: Machine, node: ElementNode, { human }: Step): void {
  node.waitsFor = 'task';
  beginDuties(m, node, human?.due, human?.escalations);
  openStep(m, node);
}

function openTask(m: Machine, node: ElementNode, { human }: Step): void {
  if (human === undefined) return;
  const roots = m.rootsIn(node);
  node.taskId = activityId(m.state.id, node.id, node.attempt, 'task');
  m.effect(
    {
      kind: 'open_task',
      element: node.id,
      taskId: node.taskId,
      typeKey: human.taskType,
      title: m.tools.render(human.title, roots).slice(0, characters.title),
      form: human.form ?? null,
      context: m.evaluateAll(human.context ?? {}, roots),
      assign: evaluated(m, node, human.assign ?? []),
      dueAt: node.due?.dueAt ?? null,
    },
    { type: 'process.step_entered', payload: payloadOfEntered(node) },
  );
}

function enterApprove(m: Machine, node: ElementNode, { approve }: Step): void {
  node.waitsFor = 'approvals';
  beginDuties(m, node, approve?.due, approve?.escalations);
  openStep(m, node);
}

function enterCall(m: Machine, node: ElementNode, { call }: Step): void {
  node.waitsFor = waitedForBy(call);
  beginDuties(m, node, call?.due, []);
  if (call?.timeout !== undefined) scheduleTimeout(m, node, call.timeout);
  openStep(m, node);
}

/** Assignees with their expressions evaluated: to a principal's id, `role:<slug>` or `agent:<key>`. */
export function evaluated<Given extends { expr?: string | undefined }>(
  m: Machine,
  node: ElementNode,
  assignees: readonly Given[],
): Given[] {
  return evaluatedBy(m, m.rootsIn(node), assignees);
}

export function evaluatedBy<Given extends { expr?: string | undefined }>(
  m: Machine,
  roots: Roots,
  assignees: readonly Given[],
): Given[] {
  return assignees.map((assignee) => {
    if (assignee.expr === undefined) return assignee;
    const value = m.evaluate(assignee.expr, roots);
    return { ...assignee, expr: typeof value === 'string' ? value : '' };
  });
}

function scheduleTimeout(m: Machine, node: ElementNode, timeout: string): void {
  const dueAt = new Date(m.nowMs + durationMs(timeout)).toISOString();
  schedule(m, node, 'timeout', 0, { dueAt, unit: 'wall' });
}

/** The deadline of a step and its escalations. */
function beginDuties(
  m: Machine,
  node: ElementNode,
  due: Due | undefined,
  escalations: readonly Escalation[] = [],
): void {
  if (due !== undefined) {
    node.due = beginDeadline(m, node, due);
    node.slaState = node.due === null ? 'unknown' : 'ok';
  }
  for (const [n, { after }] of escalations.entries()) {
    if (after === 'due') {
      if (node.due !== null)
        schedule(m, node, 'escalation', n + 1, { dueAt: node.due.dueAt, ...countedAs(m, node) });
      continue;
    }
    const when =
      typeof after === 'string'
        ? { dueAt: new Date(m.nowMs + durationMs(after)).toISOString(), unit: 'wall' as const }
        : { dueAt: instantOf(m, after.at), unit: 'instant' as const };
    schedule(m, node, 'escalation', n + 1, when);
  }
}

function countedAs(m: Machine, node: ElementNode) {
  const timer = Object.values(m.state.timers).find(
    ({ element, purpose, state }) => element === node.id && purpose === 'due' && state === 'pending',
  );
  return { unit: timer?.unit ?? 'wall', calendar: timer?.calendar ?? null } as const;
}

/** The result of a table: an object by its outputs, or the objects of all matching rules. */
function decideBy(m: Machine, node: ElementNode, table: DecisionTable): Json {
  const named = (id: string) => id.replaceAll('-', '_');
  const inputs = Object.fromEntries(
    table.inputs.map(({ id, expr }) => [named(id), m.evaluate(expr, m.rootsIn(node))]),
  );
  const roots = { ...m.rootsIn(node), ...inputs };
  const matched: number[] = [];
  for (const [n, rule] of table.rules.entries()) {
    if (!rule.when.every((text) => m.holds(text, roots, table.id))) continue;
    matched.push(n);
    if (table.hitPolicy === 'first') break;
  }
  m.note('decision', node.id, table.id, { rules: matched });
  if (table.hitPolicy === 'unique' && matched.length > 1)
    throw new ProcessFault('table_not_unique', `rules ${matched.map((n) => n + 1).join(', ')} all match`);
  const said = matched.map((n) => outputsOf(m, table, n, roots));
  if (table.hitPolicy === 'collect') return said;
  return said[0] ?? null;
}

function outputsOf(m: Machine, table: DecisionTable, rule: number, roots: JsonObject): JsonObject {
  const texts = table.rules[rule]?.then ?? [];
  return Object.fromEntries(
    table.outputs.map(({ id }, n) => [
      id,
      texts[n] === undefined ? null : m.evaluate(texts[n], roots, table.id),
    ]),
  );
}

/** Ends a step's wait for a result that has not arrived in time. */
export function timeOut(m: Machine, node: ElementNode): void {
  const { listen } = m.step(node.id);
  if (listen?.onTimeout !== undefined) {
    node.waitsFor = 'steps';
    return startList(m, `${node.id}/listen/onTimeout`, node.id, node.stage);
  }
  if (node.recallId !== undefined) return failRecall(m, node.recallId, node.id, 'timeout');
  for (const sequence of m.sequences())
    if (sequence.parent === node.id) cancelSequence(m, sequence, 'timed_out');
  failElement(m, node, { type: 'timeout', status: 408, detail: null }, 'timed_out');
}

function enterRecall(m: Machine, node: ElementNode, { recall }: Step): void {
  node.waitsFor = 'memory';
  scheduleTimeout(m, node, recall?.timeout ?? recallTimeout);
  openStep(m, node);
}

/** Queries memory as it was when the step was reached, so that a retry sends the same query. */
function openRecall(m: Machine, node: ElementNode, recall: Recall): void {
  const { kinds, relations, depth, maxTokens } = recall;
  const anchors = recall.anchors.map((anchor) => m.tools.render(anchor, m.rootsIn(node)).trim());
  const wrong = anchors.find((anchor) => !isAnchor(anchor));
  if (wrong !== undefined) {
    emitEntered(m, node);
    const detail = wrong.slice(0, characters.detail).toWellFormed();
    return failElement(m, node, { type: 'invalid_anchor', status: 422, detail });
  }
  node.recallId = activityId(m.state.id, node.id, node.attempt, 'recall');
  m.effect(
    {
      kind: 'open_recall',
      element: node.id,
      recallId: node.recallId,
      question: { anchors: [...new Set(anchors)], kinds, relations, depth, maxTokens, asOf: node.since },
    },
    { type: 'process.step_entered', payload: payloadOfEntered(node) },
  );
}

export function takeRecalled(m: Machine, input: Extract<Input, { kind: 'recalled' }>): void {
  const { element: step, recallId, asOf, nodeCount, edgeCount, truncated, resultHash, result } = input;
  const node = m.element(step);
  if (node === undefined || node.recallId !== recallId) return;
  node.isAnswered = true;
  m.tell('process.recall_completed', {
    step,
    recallId,
    asOf,
    nodeCount,
    edgeCount,
    truncated,
    resultHash,
  });
  finish(m, node, result);
}

/** Memory returned no result in time, or can't return one, so the step times out. */
export function failRecall(m: Machine, recallId: string, step: string, reason: string): void {
  const node = m.element(step);
  if (node === undefined || node.recallId !== recallId) return;
  if (reason !== 'timeout') node.isAnswered = true;
  m.tell('process.recall_timed_out', { step, recallId, reason });
  failElement(m, node, { type: 'timeout', status: 408, detail: reason }, 'timed_out');
}

/**
 * Writes to memory by an observation, which is delivered once, like all events. The step is done when the observation
 * is in the journal.
 */
function openObservation(m: Machine, node: ElementNode, { kind, content, data = {}, facts }: Remember): void {
  const roots = m.rootsIn(node);
  const rendered = (template: string, charactersMax: number) =>
    m.tools.render(template, roots).slice(0, charactersMax).toWellFormed();
  node.observationId = activityId(m.state.id, node.id, node.attempt, 'observation');
  m.effect(
    {
      kind: 'open_observation',
      element: node.id,
      observationId: node.observationId,
      observed: kind,
      content: rendered(content, characters.content),
      data: m.evaluateAll(data, roots),
      facts: facts.map(({ subject, predicate, object }) => ({
        subject: rendered(subject, characters.fact),
        predicate,
        object: rendered(object, characters.fact),
      })),
    },
    { type: 'process.step_entered', payload: payloadOfEntered(node) },
  );
}

export function takeRemembered(m: Machine, node: ElementNode, { id: eventId }: EventRoot): void {
  finish(m, node, { observationId: node.observationId as string, eventId });
}
