import type { WorkingCalendar } from '@baton/process-engine/calendars/working-calendar';
import { newState, takeInput } from '@baton/process-engine/engine/engine';
import {
  isOfTrigger,
  isResumedBy,
  ownHandlersOf,
  startCorrelation,
} from '@baton/process-engine/engine/handlers';
import { activityId } from '@baton/process-engine/engine/ids/activity-ids';
import type { Act, Effect, Input } from '@baton/process-engine/engine/inputs';
import { type EngineTools, ProcessFault } from '@baton/process-engine/engine/machine';
import type { EventRoot, ProcessState, TaskRoot, Timer } from '@baton/process-engine/engine/state';
import { dueTimersOf } from '@baton/process-engine/engine/timers';
import { waitsOf } from '@baton/process-engine/engine/waits';
import { faultsOfForm, valuesForForm } from '@baton/process-engine/forms/form-values';
import type { JsonObject } from '@baton/values/wire';
import { type PreparedDefinition, toolsOf } from '../../processes/instances/definitions-in-use.ts';
import { triggerKeyOf } from '../../processes/triggers/triggers.ts';
import { createdBy, peopleOf } from './created.ts';
import { type Created, type EngineTime, NotSimulated } from './outcome.ts';
import type { ProcessReach } from './process-coverage.ts';

/** Runs instances of a process in the engine only: their effects are recorded, and nothing is written. */

/** The same limit as for real instances. */
const followUpsMax = 20;
const keyCharactersMax = 500;

type Of<Kind extends Effect['kind']> = Extract<Effect, { kind: Kind }>;

/** The dependencies of a process test. */
export interface SimulatedProcess {
  readonly use: PreparedDefinition;
  readonly calendars: ReadonlyMap<string, WorkingCalendar>;
  readonly costLimit: number;
  readonly reach: ProcessReach;
  /** For a type of the package: the problems of a task's custom fields. */
  faultOfFields(typeKey: string, fields: JsonObject): boolean;
}

export interface Instance {
  readonly key: string;
  state: ProcessState;
  /** Inputs that arrived while the instance was suspended, in order. */
  readonly kept: Input[];
  /** Tasks that the instance has opened, by id. */
  readonly tasks: Map<string, Of<'open_task'>>;
}

/** The effects of the inputs so far. */
export interface Led {
  readonly created: Created[];
  readonly problems: string[];
}

export class ProcessSimulation {
  readonly #process: SimulatedProcess;
  readonly #tools: EngineTools;
  readonly #time: EngineTime;
  readonly instances: Instance[] = [];
  #ids = 0;

  constructor(process: SimulatedProcess, time: EngineTime) {
    this.#process = process;
    this.#time = time;
    this.#tools = toolsOf(process.use, process.calendars, process.costLimit, time.check);
  }

  /** A UUID that is the same in every run of the test. */
  newId(purpose: string): string {
    this.#ids += 1;
    return activityId('test', this.#process.use.definition.key, this.#ids, purpose);
  }

  /**
   * Delivers an event: it starts an instance, correlates with one, or matches a step that waits for it.
   * @returns the last instance that accepted it; undefined if it matched none
   */
  *deliver(event: EventRoot, led: Led): Generator<void, Instance | undefined> {
    const { start } = this.#process.use.definition.spec;
    const before = [...this.instances];
    let taken: Instance | undefined;
    const startKey = yield* this.#keyOf(start, event, true, led);
    for (const instance of before) {
      if (!isLive(instance)) continue;
      const correlations = yield* this.#correlationsOf(instance, event, led);
      if (startKey === instance.key) correlations.push(startCorrelation);
      const { definition } = this.#process.use;
      const listens =
        waitsOf(definition, instance.state).includes(triggerKeyOf(event)) ||
        ownHandlersOf(definition, instance.state, event).length > 0;
      if (correlations.length === 0 && !listens) continue;
      taken = instance;
      yield* this.take(instance, { kind: 'event', at: event.time, event, correlations }, led);
    }
    if (startKey === undefined || before.some((one) => isLive(one) && one.key === startKey)) return taken;
    return yield* this.#start(startKey, event, led);
  }

  *#start(key: string, event: EventRoot, led: Led): Generator<void, Instance> {
    const id = this.newId('instance');
    const state = newState(this.#process.use.definition, { id, key, startedAt: event.time, data: {} });
    const instance: Instance = { key, state, kept: [], tasks: new Map() };
    this.instances.push(instance);
    led.created.push({ kind: 'instance', key });
    yield* this.take(instance, { kind: 'start', at: event.time, event }, led);
    return instance;
  }

  *#correlationsOf(instance: Instance, event: EventRoot, led: Led): Generator<void, number[]> {
    const found: number[] = [];
    for (const [n, { on, key }] of this.#process.use.definition.handlers.entries())
      if (key !== undefined && (yield* this.#keyOf({ on, key }, event, false, led)) === instance.key)
        found.push(n);
    return found;
  }

  /**
   * The key that a trigger yields; an evaluation error is reported as a problem, because in production the event would
   * be lost.
   */
  *#keyOf(
    { on, key }: { on: Parameters<typeof isOfTrigger>[0]; key: string },
    event: EventRoot,
    isStart: boolean,
    led: Led,
  ): Generator<void, string | undefined> {
    if (!isOfTrigger(on, event)) return undefined;
    const roots = { event: event as unknown as JsonObject };
    try {
      const value = yield* this.#time.run(() => {
        if (isStart && on.where !== undefined && this.#tools.evaluate(on.where, roots) !== true) return null;
        return this.#tools.evaluate(key, roots);
      });
      const text = typeof value === 'number' ? String(value) : value;
      return typeof text === 'string' && text !== '' && text.length <= keyCharactersMax ? text : undefined;
    } catch (error) {
      if (!(error instanceof ProcessFault)) throw error;
      led.problems.push(error.code);
      return undefined;
    }
  }

  /**
   * Delivers an input and all inputs that follow from it to an instance; a fault suspends it, as in production. Inputs
   * that arrive while it is suspended are stored until an event resumes it.
   */
  *take(instance: Instance, input: Input, led: Led): Generator<void, void> {
    const { definition } = this.#process.use;
    if (instance.state.status === 'suspended') {
      const resumes = yield* this.#time.run(() =>
        isResumedBy(definition, instance.state, input, this.#tools),
      );
      if (!resumes) {
        instance.kept.push(input);
        return;
      }
    }
    yield* this.#takeOrStore(instance, input, led);
    while (instance.state.status === 'running' && instance.kept.length > 0) {
      const kept = instance.kept.shift() as Input;
      yield* this.#takeOrStore(instance, { ...kept, at: input.at }, led);
    }
  }

  *#takeOrStore(instance: Instance, input: Input, led: Led): Generator<void, void> {
    try {
      instance.state = yield* this.#takeAll(instance, input, led);
    } catch (error) {
      if (!(error instanceof ProcessFault)) throw error;
      const { element, code, message: reason } = error;
      led.problems.push(code);
      const park: Input = { kind: 'park', at: input.at, element, code, reason };
      instance.state = yield* this.#takeAll(instance, park, led);
    }
  }

  *#takeAll(instance: Instance, input: Input, led: Led): Generator<void, ProcessState> {
    const { use, reach } = this.#process;
    const waiting: Input[] = [input];
    const made: Led = { created: [], problems: [] };
    const tasks: Of<'open_task'>[] = [];
    let { state } = instance;
    for (let taken = 0; waiting.length > 0; taken += 1) {
      if (taken > followUpsMax)
        throw new ProcessFault('too_many_follow_ups', `more than ${followUpsMax} inputs followed from one`);
      const next = waiting.shift() as Input;
      const from = state;
      const { state: then, acts } = yield* this.#time.run(() =>
        takeInput(use.definition, from, next, this.#tools),
      );
      state = then;
      reach.take(acts);
      for (const act of acts) {
        const follows = this.#do(act, state.clock, made, tasks);
        if (follows !== undefined) waiting.push(follows);
      }
    }
    led.created.push(...made.created);
    led.problems.push(...made.problems);
    for (const task of tasks) instance.tasks.set(task.taskId, task);
    return state;
  }

  /** Records one effect. @returns the input that follows from it */
  #do(act: Act, at: string, made: Led, tasks: Of<'open_task'>[]): Input | undefined {
    if (act.do === 'tell' && act.event.type === 'process.sla_failed') {
      const { code } = act.event.payload['error'] as { code: string };
      made.problems.push(code);
    }
    if (act.do !== 'effect') return undefined;
    const { effect } = act;
    switch (effect.kind) {
      case 'open_task':
        return this.#openTask(effect, at, made, tasks);
      case 'find_voters': {
        const { element, approvers } = effect;
        return { kind: 'voters', at, element, principals: peopleOf(approvers) };
      }
      case 'open_observation':
        made.created.push(createdBy(effect));
        return { kind: 'event', at, event: this.#observed(effect, at) };
      case 'ask_approval':
      case 'open_call':
      case 'open_instance':
      case 'open_recall':
      case 'tell_case':
      case 'escalate':
        made.created.push(createdBy(effect));
        return undefined;
      case 'rename_tasks':
      case 'close_task':
      case 'close_call':
      case 'close_approval':
      case 'close_instance':
      case 'close_recall':
        return undefined;
    }
  }

  #openTask(effect: Of<'open_task'>, at: string, made: Led, tasks: Of<'open_task'>[]): Input | undefined {
    const { element, typeKey } = effect;
    // A task starts without custom fields, so a type with required fields refuses it.
    if (this.#process.faultOfFields(typeKey, {})) {
      const code = 'custom_fields_invalid';
      made.problems.push(code);
      return element === null ? undefined : { kind: 'intent_failed', at, element, code, details: {} };
    }
    tasks.push(effect);
    made.created.push(createdBy(effect));
    return undefined;
  }

  /** The event of an observation that a step has stored and waits for. */
  #observed({ observationId, observed, content, data }: Of<'open_observation'>, at: string): EventRoot {
    return {
      id: this.newId('event'),
      type: 'observation.recorded',
      time: at,
      entityType: 'observation',
      entityId: observationId,
      actorId: null,
      correlationId: null,
      payload: { kind: observed, content, data },
    };
  }

  /** The next due timer of all instances; undefined if none is due by the given instant. */
  nextTimer(upTo: string): { instance: Instance; timer: Timer; dueAt: string } | undefined {
    let next: { instance: Instance; timer: Timer; dueAt: string } | undefined;
    for (const instance of this.instances) {
      if (instance.state.status !== 'running') continue;
      const [timer] = dueTimersOf(instance.state, upTo);
      if (timer === undefined || timer.dueAt === null) continue;
      const { dueAt } = timer;
      if (next === undefined || dueAt < next.dueAt) next = { instance, timer, dueAt };
    }
    return next;
  }

  /** The task of an open step, as expressions read it when the step is done. */
  taskOf(instance: Instance, taskId: string, customFields: JsonObject, isDone: boolean): TaskRoot {
    const task = instance.tasks.get(taskId);
    if (task === undefined) throw new NotSimulated('a task that the process has not opened');
    return {
      id: taskId,
      publicId: 'TEST-1',
      typeKey: task.typeKey,
      typeVersion: 1,
      title: task.title,
      status: isDone ? 'completed' : 'cancelled',
      systemStatusCategory: isDone ? 'terminal_success' : 'terminal_cancelled',
      priority: 'normal',
      workspaceId: null,
      assigneeId: peopleOf(task.assign)[0] ?? null,
      customFields,
    };
  }

  /** Whether a completion is refused: the custom fields must match the task type and the form of the step. */
  isRefused(instance: Instance, taskId: string, fields: JsonObject): boolean {
    const task = instance.tasks.get(taskId);
    if (task === undefined) throw new NotSimulated('a task that the process has not opened');
    const { typeKey, form } = task;
    if (this.#process.faultOfFields(typeKey, fields)) return true;
    return faultsOfForm(form, valuesForForm(form, fields)).length > 0;
  }
}

export function isLive({ state: { status } }: Instance): boolean {
  return status === 'running' || status === 'suspended';
}
