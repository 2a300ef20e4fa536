import type { Json, JsonObject } from '@baton/values/wire';
import { valuesForForm } from '../forms/form-values.ts';
import { takeChild } from './calls.ts';
import { type CaseMemory, caseOf, hashOfCase } from './case/case.ts';
import { escalate, passDeadline } from './deadlines.ts';
import type { Definition } from './definition-lists.ts';
import { beginCancel, continueLists, suspendForOperator, suspendNow } from './endings.ts';
import { emitCorrelated, handle, handlersFor, isOfTrigger, startCorrelation } from './handlers.ts';
import { activityId } from './ids/activity-ids.ts';
import type { Act, CallEnd, Input } from './inputs.ts';
import { type EngineTools, Machine, ProcessFault } from './machine.ts';
import { advance, cancelSequence, exit, failElement, finish, isCaught, startList } from './sequences.ts';
import { beginTimer, settle } from './stages.ts';
import { type ElementNode, type EventRoot, type ProcessState, type TaskRoot, type Timer } from './state.ts';
import {
  enterKind,
  evaluatedBy,
  failRecall,
  openStep,
  takeRecalled,
  takeRemembered,
  timeOut,
} from './step-kinds.ts';
import { beginDeadline, cancelTimersOf, countDeadline, recount } from './timers.ts';
import { clearRequested, removeVoter, takeVote, takeVoters } from './votes.ts';

const titleCharactersMax = 500;

/** An instance before its first input. */
export function newState(
  { spec }: Definition,
  { id, key, startedAt, data }: Pick<ProcessState, 'id' | 'key' | 'startedAt' | 'data'>,
): ProcessState {
  const stages = spec.stages.map((stage) => [
    stage.id,
    { state: 'available', attempt: 0, entryHeld: false } as const,
  ]);
  return {
    id,
    key,
    startedAt,
    clock: startedAt,
    status: 'running',
    outcome: null,
    data,
    stages: Object.fromEntries(stages),
    stageOrder: spec.stages.map((stage) => stage.id),
    milestones: {},
    nodes: {},
    timers: {},
    attempts: {},
    undoable: [],
    queued: [],
    lastStep: null,
    lastTask: null,
    workers: [],
    parked: null,
    skipped: [],
    ending: null,
    isStarted: false,
    isInterrupted: false,
    due: null,
    slaState: 'none',
  };
}

export interface Taken {
  readonly state: ProcessState;
  /** The intents to execute, in this order. */
  readonly acts: readonly Act[];
}

/**
 * Processes one input of an instance: its next state, and the intents to execute (docs/reference/processes.md#engine).
 * It is a pure function: the time comes from the input, and ids are derived from their purpose. `before` is not
 * changed.
 * @throws ProcessFault with the faulty element: the input has no effect, and the instance must be suspended
 */
export function takeInput(
  definition: Definition,
  before: ProcessState,
  input: Input,
  tools: EngineTools,
): Taken {
  const state = structuredClone(before);
  if (input.at > state.clock) state.clock = input.at;
  // Merged, because the result of `forInput()` may lack members that only the tools of this input have, such as
  // `migrate`.
  const own = { ...tools, ...tools.forInput?.() };
  const m = new Machine({ definition, tools: own, enter: enterKind }, state, state.clock);
  try {
    take(m, input);
    settle(m);
    tellMemory(m, before.status);
    if (isOver(m.state.status) && !isOver(before.status)) fileRetrospective(m);
  } catch (error) {
    if (error instanceof ProcessFault) error.element ??= m.current;
    throw error;
  }
  return { state, acts: m.acts };
}

const isOver = (status: ProcessState['status']) => status !== 'running' && status !== 'suspended';

/**
 * The facts for the memory service after an input that started the instance, changed its data or ended it: events
 * contain them, and an observation reports them if they differ from the last report.
 */
function tellMemory(m: Machine, before: ProcessState['status']): void {
  const last = (type: string) => m.acts.findLastIndex((act) => act.do === 'tell' && act.event.type === type);
  const carriers = [last('process.started'), last('process.data_changed'), last('process.completed')].filter(
    (n) => n >= 0,
  );
  const isEnd = isOver(m.state.status) && !isOver(before);
  if (m.definition.spec.memory === undefined || (carriers.length === 0 && !isEnd)) return;
  const memory = caseMemory(m);
  if (memory === undefined) return;
  for (const n of carriers) {
    const act = m.acts[n];
    if (act?.do !== 'tell') continue;
    const payload = { ...act.event.payload, memory: memory as unknown as JsonObject };
    m.acts[n] = { do: 'tell', event: { ...act.event, payload } };
  }
  const hash = hashOfCase(memory);
  if (hash === m.state.memoryTold && !isEnd) return;
  m.state.memoryTold = hash;
  m.effect({ kind: 'tell_case', element: null, status: m.state.status, memory });
}

/** Undefined if the case's key has no value yet, or a part of the case can't be evaluated. */
function caseMemory(m: Machine): CaseMemory | undefined {
  const { memory } = m.definition.spec;
  if (memory === undefined) return undefined;
  const roots = m.roots();
  // The case is computed whenever the data changes, so all of its expressions together have the cost limit of a single
  // one.
  const tools = m.tools.shared();
  try {
    return caseOf(memory, {
      evaluate: (text) => tools.evaluate(text, roots),
      render: (text) => tools.render(text, roots),
    });
  } catch (error) {
    if (!(error instanceof ProcessFault)) throw error;
    m.note('decision', null, 'memory', { code: error.code, reason: error.message });
    return undefined;
  }
}

/** The task to review an instance that has ended. */
function fileRetrospective(m: Machine): void {
  const { retrospective } = m.definition.spec;
  if (retrospective === undefined) return;
  const { taskType, title, assign = [], due } = retrospective;
  try {
    m.effect({
      kind: 'open_task',
      element: null,
      taskId: activityId(m.state.id, '', 1, 'retrospective'),
      typeKey: taskType,
      title: m.tools.render(title, m.roots()).slice(0, titleCharactersMax),
      form: null,
      context: { status: m.state.status, outcome: m.state.outcome },
      assign: evaluatedBy(m, m.roots(), assign),
      dueAt: due === undefined ? null : countDeadline(m, due, m.nowMs).dueAt,
    });
  } catch (error) {
    if (!(error instanceof ProcessFault)) throw error;
    // Only noted, because the instance has ended whether or not this task can be opened.
    m.note('decision', null, 'retrospective', { code: error.code, reason: error.message });
  }
}

function take(m: Machine, input: Input): void {
  const { kind } = input;
  m.note('input', null, kind, summaryOf(input));
  if (kind === 'migrate') {
    if (m.tools.migrate === undefined) throw new Error('the tools have no migrate');
    return m.tools.migrate(m, input);
  }
  const { hasBegun } = m.state;
  // A called instance starts with its first input, and only once.
  if (hasBegun === true && kind === 'start') return;
  if (m.state.isStarted === false && (kind === 'park' || kind === 'cancel')) tellStarted(m, triggerOf(input));
  if (hasBegun === false && kind !== 'park') {
    m.state.hasBegun = true;
    // An instance can be cancelled even if it could not start.
    if (kind !== 'start' && kind !== 'cancel') start(m, null);
  }
  if (kind === 'start') return start(m, input.event);
  if (kind === 'event') {
    // While an instance is suspended, the only events that it receives are those that resume it.
    if (m.state.status === 'suspended') resume(m, 'event');
    return takeEvent(m, input);
  }
  if (kind === 'timer') return fire(m, input.timerId);
  if (kind === 'voters') return takeVoters(m, input.element, input.principals);
  if (kind === 'intent_failed') return refuse(m, input);
  if (kind === 'suspend') return suspendNow(m, input.cause, input.reason);
  if (kind === 'park') return suspendForOperator(m, input);
  if (kind === 'resume') return resume(m, 'operator');
  if (kind === 'recalled') return takeRecalled(m, input);
  if (kind === 'recall_failed') return failRecall(m, input.recallId, input.element, input.reason);
  if (kind === 'skip') return skip(m, input);
  // Retries a compensation that failed.
  const { ending, status } = m.state;
  if (ending !== null && status === 'suspended' && input.compensate) return resume(m, 'operator');
  beginCancel(m, input.reason, input.compensate);
}

/** The part of an input that the instance's journal stores. */
function summaryOf(input: Input): JsonObject {
  if (input.kind === 'start' || input.kind === 'event') {
    const { id = null, type = null } = input.event ?? {};
    return { eventId: id, eventType: type };
  }
  if (input.kind === 'recalled') {
    const { recallId, element, nodeCount, edgeCount, truncated, resultHash } = input;
    return { recallId, element, nodeCount, edgeCount, truncated, resultHash };
  }
  const { kind: _, at: __, ...rest } = input;
  return rest as unknown as JsonObject;
}

function start(m: Machine, event: EventRoot | null): void {
  m.event = event;
  m.state.isStarted = true;
  const { spec } = m.definition;
  tellStarted(m, event);
  if (event !== null) m.write(m.evaluateAll(spec.start.set ?? {}), null);
  if (spec.due !== undefined) {
    const owner = { id: m.state.id, attempt: 1, activityId: m.state.id };
    m.state.due = beginDeadline(m, owner, spec.due);
    m.state.slaState = m.state.due === null ? 'unknown' : 'ok';
  }
  for (const timer of spec.timers) {
    m.current = timer.id;
    beginTimer(m, timer, 1);
  }
}

/** Emitted once, before all other events of the instance, even if the start fails and is retried later. */
function tellStarted(m: Machine, trigger: Trigger | null): void {
  if (m.state.isStartTold === true) return;
  m.state.isStartTold = true;
  m.tell('process.started', {
    triggerEventId: trigger?.id ?? null,
    triggerType: trigger?.type ?? null,
    memory: null,
  });
}

type Trigger = Pick<EventRoot, 'id' | 'type'>;

const triggerOf = (input: Input): Trigger | null => (input.kind === 'park' && input.trigger) || null;

function takeEvent(m: Machine, input: Extract<Input, { kind: 'event' }>): void {
  const { event, task, call, child, output, correlations = [] } = input;
  m.event = event;
  const found = handlersFor(m, input);
  for (const n of found) handle(m, n, event);
  // An event whose key is taken is recorded, and starts nothing.
  if (found.length === 0 && correlations.includes(startCorrelation)) emitCorrelated(m, event, []);
  if (event.type === 'calendar.published') recount(m, String(event.payload['key']));
  for (const node of m.elements()) {
    if (m.element(node.id) !== node) continue;
    m.current = node.id;
    if (node.taskId === event.entityId && task != null) takeTask(m, node, task, event, output);
    else if (node.callId === event.entityId && call != null) takeCall(m, node, call);
    else if (node.childId === event.entityId && child != null) takeChild(m, node, child);
    else if (node.observationId === event.entityId) takeRemembered(m, node, event);
    else if (node.waitsFor === 'approvals') {
      if (event.type === 'principal.disabled') removeVoter(m, node, event.entityId);
      else takeVote(m, node, event);
    } else if (node.waitsFor === 'event') takeListened(m, node, event);
  }
}

function takeListened(m: Machine, node: ElementNode, event: EventRoot): void {
  const heard = m
    .step(node.id)
    .listen?.any.some(
      (trigger) => isOfTrigger(trigger, event) && (trigger.where === undefined || m.holds(trigger.where)),
    );
  if (heard === true) finish(m, node, event as unknown as JsonObject);
}

function takeTask(
  m: Machine,
  node: ElementNode,
  task: TaskRoot,
  event: EventRoot,
  output: Json | undefined,
): void {
  const { systemStatusCategory: category } = task;
  if (category !== 'terminal_success' && category !== 'terminal_cancelled') return;
  node.isAnswered = true;
  m.state.lastTask = task;
  if (category === 'terminal_cancelled')
    return failElement(m, node, { type: 'task_cancelled', status: 409, detail: null });
  const worked = [event.actorId, task.assigneeId].filter((id) => id !== null);
  m.state.workers = [...new Set([...m.state.workers, ...worked])];
  const { customFields } = task;
  const asked = valuesForForm(m.step(node.id).human?.form, customFields);
  // The result of a call to an agent is the output of its run or, if a person completes the task, the task's fields.
  finish(m, node, node.stepKind === 'call' ? (output ?? customFields) : asked);
}

function takeCall(m: Machine, node: ElementNode, { status, output, skill, error }: CallEnd): void {
  if (status === 'pending' || status === 'running') return;
  node.isAnswered = true;
  if (status === 'succeeded') return finish(m, node, output, { skill });
  const type = error?.code ?? 'skill_failed';
  failElement(m, node, { type, status: null, detail: error?.message ?? null });
}

function fire(m: Machine, timerId: string): void {
  const timer = m.state.timers[timerId];
  // The timer was moved, cancelled or fired before: the row that triggered this input is outdated.
  if (timer?.state !== 'pending' || timer.dueAt === null || timer.dueAt > m.now) return;
  timer.state = 'fired';
  const { element, dueAt, purpose, level } = timer;
  m.current = element;
  m.tell('process.timer_fired', { timerId, element, dueAt });
  if (purpose === 'timer') return fireDefined(m, timer);
  if (purpose === 'due' || purpose === 'warn') return passDeadline(m, timer);
  const node = m.element(element);
  if (node === undefined) return;
  if (purpose === 'wait') return finish(m, node, null);
  if (purpose === 'timeout') return timeOut(m, node);
  if (purpose === 'retry') return startList(m, `${element}/try/do`, element, node.stage);
  escalate(m, node, level);
}

/** A timer of the definition or of a stage. An interrupting timer ends all open elements there. */
function fireDefined(m: Machine, { element }: Timer): void {
  const { timer, stage } = m.definition.timers.get(element) ?? {};
  if (timer === undefined || stage === undefined) return;
  if (timer.interrupting) {
    for (const sequence of m.sequences())
      if (m.sequence(sequence.id) !== undefined && (stage === null || sequence.stage === stage))
        cancelSequence(m, sequence, 'interrupted');
    if (stage === null) interruptStages(m);
  }
  startList(m, `timer/${element}`, null, stage);
}

function interruptStages(m: Machine): void {
  m.state.isInterrupted = true;
  for (const [id, stage] of Object.entries(m.state.stages)) {
    if (stage.state === 'active') m.tell('process.stage_exited', { stage: id });
    if (stage.state !== 'completed') stage.state = 'terminated';
    for (const timer of m.definition.stages.get(id)?.timers ?? []) cancelTimersOf(m, timer.id);
  }
}

/** If no `try` catches the error, the instance waits for an operator: a resume opens the step again. */
function refuse(m: Machine, input: Extract<Input, { kind: 'intent_failed' }>): void {
  const { element, approvalId, code, details } = input;
  const node = m.element(element);
  if (node === undefined) return;
  m.current = element;
  node.refused = true;
  forgetOpened(node);
  if (approvalId !== undefined) clearRequested(node, approvalId);
  const detail = JSON.stringify(details).slice(0, 1000);
  if (isCaught(m, node, code)) return failElement(m, node, { type: code, status: null, detail });
  suspendForOperator(m, { element, code, reason: detail });
}

/** A refused task doesn't exist: the instance has no task id until the step opens it again. */
function forgetOpened(node: ElementNode): void {
  delete node.taskId;
  delete node.callId;
  delete node.childId;
  delete node.recallId;
  delete node.observationId;
}

function resume(m: Machine, cause: 'operator' | 'event'): void {
  continueLists(m);
  m.tell('process.resumed', { cause });
  reopen(m);
}

function reopen(m: Machine): void {
  for (const node of m.elements()) {
    if (node.refused !== true) continue;
    node.refused = false;
    m.current = node.id;
    openStep(m, node);
  }
}

/** Skips the failed step (docs/reference/processes.md#instances). */
function skip(m: Machine, { element, reason }: Extract<Input, { kind: 'skip' }>): void {
  continueLists(m);
  m.tell('process.resumed', { cause: 'skipped', element, reason });
  const node = m.element(element);
  if (node === undefined) {
    m.state.skipped.push(element);
    return reopen(m);
  }
  const { skill, result, error, input } = {
    skill: null,
    result: null,
    error: null,
    input: node.input ?? null,
  };
  m.state.lastStep = { id: element, skill, status: 'skipped', result, error, input };
  const sequence = m.sequence(node.parent);
  for (const inner of m.sequences()) if (inner.parent === element) cancelSequence(m, inner, 'cancelled');
  exit(m, node, 'cancelled');
  if (sequence !== undefined) advance(m, sequence);
  reopen(m);
}
