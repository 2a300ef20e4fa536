import { isDeepStrictEqual } from 'node:util';
import type { Json, JsonObject } from '@baton/values/wire';
import type { WorkingCalendar } from '../calendars/working-calendar.ts';
import { parseIsoDuration } from '../language/expressions/durations.ts';
import type { Step } from '../language/step.ts';
import type { Definition } from './definition-lists.ts';
import type { Act, Effect, Input, JournalNote, ProcessEvent, Responsible } from './inputs.ts';
import {
  type ElementNode,
  type EventRoot,
  inOrder,
  type Parked,
  type ProcessState,
  type SequenceNode,
  type StepRoot,
} from './state.ts';

/** The maximum number of steps per input; a process that exceeds it is faulty. */
const stepsMax = 5000;
/** The maximum length of the data as compact JSON, in characters; the same as for other free documents. */
export const dataCharactersMax = 65_536;

/** The milliseconds of a duration in a definition, whose form was validated. */
export function durationMs(text: string): number {
  return parseIsoDuration(text) ?? 0;
}

/** The roots that expressions read. */
export type Roots = { readonly [root: string]: Json };

/** The functions that the engine uses, none of which has side effects. */
export interface EngineTools {
  /**
   * @param table the table whose inputs it reads, if it belongs to one
   * @throws ProcessFault `expression_error`, `expression_cost_exceeded`
   */
  evaluate(text: string, roots: Roots, table?: string): Json;
  /** Text with `{{ CEL }}`. @throws ProcessFault */
  render(template: string, roots: Roots): string;
  /** The same functions for several expressions that share the cost limit of a single one. */
  shared(): Pick<EngineTools, 'evaluate' | 'render'>;
  /** The same functions for one input, with one limit for all of its expressions together. */
  forInput?(): EngineTools;
  /** Undefined if the tenant has no such calendar. */
  calendar(key: string): WorkingCalendar | undefined;
  /** The violation of the definition's schema by the data, as one sentence; undefined if the data is valid. */
  faultOfData(data: JsonObject): string | undefined;
  /** Called before each step: an error that it throws ends the input. For callers that limit the time of an input. */
  readonly beforeStep?: () => void;
  /** Migrates an instance to this version; used by the input `migrate`. */
  readonly migrate?: (m: Machine, input: Extract<Input, { kind: 'migrate' }>) => void;
}

/**
 * An instance can't continue: the input that caused the fault is rolled back and the instance is suspended
 * (docs/reference/processes.md#instances).
 */
export class ProcessFault extends Error {
  readonly code: string;
  element: string | null = null;

  constructor(code: string, reason: string) {
    super(reason);
    this.code = code;
  }
}

/** An instance while it processes one input. The rest of the engine operates on it. */
export class Machine {
  readonly definition: Definition;
  /** Executes a step according to its kind when it is reached. */
  readonly enter: (m: Machine, node: ElementNode, step: Step) => void;
  readonly state: ProcessState;
  readonly tools: EngineTools;
  readonly acts: Act[] = [];
  /** The time of the input. */
  readonly now: string;
  event: EventRoot | null = null;
  /** Lists of steps that continue, in order. */
  readonly ready: string[] = [];
  /** The current element: a fault is attributed to it. */
  current: string | null = null;
  /** Fields of the data that this input changed. */
  readonly changedFields: string[] = [];
  /** The reason why a compensation can't continue if the error isn't caught: the instance must wait for an operator. */
  stalled: Parked | null = null;
  /** Whether the instants that expressions return must be computed again. */
  areTimersStale = false;
  #steps = 0;

  constructor(
    { definition, tools, enter }: Pick<Machine, 'definition' | 'tools' | 'enter'>,
    state: ProcessState,
    now: string,
  ) {
    this.definition = definition;
    this.enter = enter;
    this.state = state;
    this.tools = tools;
    this.now = now;
  }

  get nowMs(): number {
    return Date.parse(this.now);
  }

  note(
    kind: JournalNote['kind'],
    element: string | null,
    reason: string | null,
    data: JsonObject = {},
  ): void {
    this.acts.push({ do: 'note', note: { kind, element, reason, data } });
  }

  tell(type: string, payload: JsonObject, responsible?: Responsible): void {
    this.acts.push({ do: 'tell', event: { type, payload }, ...(responsible && { responsible }) });
  }

  effect(effect: Effect, opened?: ProcessEvent): void {
    this.note('intent', effect.element, effect.kind, intentOf(effect));
    this.acts.push({ do: 'effect', effect, ...(opened && { opened }) });
  }

  /** Counts a step. @throws ProcessFault if one input causes too many */
  count(): void {
    this.tools.beforeStep?.();
    this.#steps += 1;
    if (this.#steps > stepsMax)
      throw new ProcessFault('too_many_steps', `one input led to more than ${stepsMax} steps`);
  }

  roots(step: StepRoot | null = this.state.lastStep): Roots {
    const { state, definition } = this;
    const stages = Object.entries(state.stages).map(([id, { state: is }]) => [
      id,
      { completed: is === 'completed', active: is === 'active' },
    ]);
    const { id, key, startedAt, clock } = state;
    return {
      data: state.data,
      event: this.event as unknown as Json,
      step: step as unknown as Json,
      task: state.lastTask as unknown as Json,
      stage: Object.fromEntries(stages) as JsonObject,
      milestone: { ...state.milestones },
      instance: { id, key, version: definition.version, startedAt, clock },
    };
  }

  /** The roots that the expressions of a step read while it runs. */
  rootsIn(node: ElementNode): Roots {
    if (node.input === undefined) return this.roots();
    const before = this.state.lastStep;
    const step = before ?? { id: node.id, skill: null, status: 'active', result: null, error: null };
    return this.roots({ ...step, input: node.input });
  }

  evaluate(text: string, roots: Roots = this.roots(), table?: string): Json {
    return this.tools.evaluate(text, roots, table);
  }

  /** @throws ProcessFault for a value that is not a boolean */
  holds(text: string, roots: Roots = this.roots(), table?: string): boolean {
    const value = this.evaluate(text, roots, table);
    if (typeof value !== 'boolean')
      throw new ProcessFault('expression_error', 'a condition must be true or false');
    return value;
  }

  evaluateAll(expressions: { readonly [name: string]: string }, roots: Roots = this.roots()): JsonObject {
    return Object.fromEntries(
      Object.entries(expressions).map(([name, text]) => [name, this.evaluate(text, roots)]),
    );
  }

  /** Writes fields of the data, and emits the changed ones. @throws ProcessFault `data_invalid` */
  write(values: JsonObject, element: string | null): void {
    const before = this.state.data;
    const changedFields = Object.keys(values).filter(
      (field) => !isDeepStrictEqual(before[field], values[field]),
    );
    if (changedFields.length === 0) return;
    const data = { ...before, ...values };
    const fault = this.tools.faultOfData(data);
    if (fault !== undefined) throw new ProcessFault('data_invalid', fault);
    if (JSON.stringify(data).length > dataCharactersMax)
      throw new ProcessFault(
        'data_too_large',
        `the data would have more than ${dataCharactersMax} characters`,
      );
    this.state.data = data;
    this.changedFields.push(...changedFields);
    this.areTimersStale = true;
    const changed = Object.fromEntries(changedFields.map((field) => [field, values[field] as Json]));
    this.note('data', element, null, changed);
    this.tell('process.data_changed', { changedFields, element, memory: null });
  }

  step(id: string): Step {
    return this.definition.steps.get(id) as Step;
  }

  element(id: string): ElementNode | undefined {
    const node = this.state.nodes[id];
    return node?.kind === 'element' ? node : undefined;
  }

  sequence(id: string): SequenceNode | undefined {
    const node = this.state.nodes[id];
    return node?.kind === 'sequence' ? node : undefined;
  }

  /** The number of the next node. */
  nextOrder(): number {
    const order = (this.state.nodesMade ?? 0) + 1;
    this.state.nodesMade = order;
    return order;
  }

  /** Ordered by entry. */
  elements(): ElementNode[] {
    return inOrder(this.state.nodes).filter((node) => node.kind === 'element');
  }

  /** Ordered by start. */
  sequences(): SequenceNode[] {
    return inOrder(this.state.nodes).filter((node) => node.kind === 'sequence');
  }
}

/** The part of an intent that the journal stores: the id of its object instead of its whole content. */
function intentOf(effect: Effect): JsonObject {
  const {
    kind: _,
    element: __,
    ...rest
  } = effect as unknown as JsonObject & { kind: string; element: string | null };
  const names = [
    'taskId',
    'approvalId',
    'callId',
    'childId',
    'recallId',
    'observationId',
    'principalId',
    'skill',
    'process',
    'typeKey',
    'dueAt',
    'level',
  ];
  return Object.fromEntries(names.flatMap((name) => (name in rest ? [[name, rest[name] as Json]] : [])));
}
