import type { JsonObject } from '@baton/kernel/wire';
import type { WorkingCalendar } from '../../../organisation/calendars/working-calendar.ts';
import { isOfTrigger, newState, startCorrelation, takeInput } from '../../process-engine/engine.ts';
import { activityId } from '../../process-engine/ids/activity-ids.ts';
import type { Act, Effect, Input } from '../../process-engine/inputs.ts';
import { type EngineTools, ProcessFault } from '../../process-engine/machine.ts';
import type { EventRoot, ProcessState, TaskRoot, Timer } from '../../process-engine/state.ts';
import { waitsOf } from '../../process-engine/waits.ts';
import { type PreparedDefinition, toolsOf } from '../../process-instances/definitions-in-use.ts';
import type { Assignee } from '../../process-language/forms.ts';
import { triggerKeyOf } from '../../process-triggers/triggers.ts';
import { type Created, type EngineTime, NotSimulated } from './outcome.ts';
import type { ProcessReach } from './process-coverage.ts';

/** Instances of a process on the engine alone: its effects are noted, and nothing is written. */

/** As for an instance that runs. */
const followUpsMax = 20;
const keyCharactersMax = 500;

/** What a test of a process leans on. */
export interface SimulatedProcess {
  readonly use: PreparedDefinition;
  readonly calendars: ReadonlyMap<string, WorkingCalendar>;
  readonly costLimit: number;
  readonly reach: ProcessReach;
  /** Of a type that the package brings: what custom fields of its tasks break. */
  faultOfFields(typeKey: string, fields: JsonObject): boolean;
}

export interface Instance {
  readonly key: string;
  state: ProcessState;
  /** Tasks that it has opened, by their ids. */
  readonly tasks: Map<string, Extract<Effect, { kind: 'open_task' }>>;
}

/** What inputs have led to. */
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

  /** A UUID that is the same whenever the test runs. */
  newId(purpose: string): string {
    this.#ids += 1;
    return activityId('test', this.#process.use.definition.key, this.#ids, purpose);
  }

  /**
   * Sends an event to whom it concerns: it starts an instance, correlates with one, or is listened for.
   * @returns the instance that took it last; undefined where it concerned nobody
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
      const listens = waitsOf(this.#process.use.definition, instance.state).includes(triggerKeyOf(event));
      if (correlations.length === 0 && !listens) continue;
      taken = instance;
      // What happens while it is suspended waits for a resume, which no test brings.
      if (instance.state.status === 'suspended') continue;
      this.#process.reach.handled(correlations.filter((n) => n !== startCorrelation));
      yield* this.take(instance, { kind: 'event', at: event.time, event, correlations }, led);
    }
    if (startKey === undefined || before.some((one) => isLive(one) && one.key === startKey)) return taken;
    return yield* this.#start(startKey, event, led);
  }

  *#start(key: string, event: EventRoot, led: Led): Generator<void, Instance> {
    const id = this.newId('instance');
    const state = newState(this.#process.use.definition, { id, key, startedAt: event.time, data: {} });
    const instance: Instance = { key, state, tasks: new Map() };
    this.instances.push(instance);
    led.created.push({ kind: 'instance', key });
    yield* this.take(instance, { kind: 'start', at: event.time, event }, led);
    return instance;
  }

  *#correlationsOf(instance: Instance, event: EventRoot, led: Led): Generator<void, number[]> {
    const found: number[] = [];
    for (const [n, correlation] of this.#process.use.definition.spec.correlate.entries())
      if ((yield* this.#keyOf(correlation, event, false, led)) === instance.key) found.push(n);
    return found;
  }

  /** The key that a trigger gives; what can't be evaluated is told as a problem, since the event would be lost. */
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

  /** Has an instance take an input and all that follows from it; a fault suspends it, as it would be suspended. */
  *take(instance: Instance, input: Input, led: Led): Generator<void, void> {
    try {
      instance.state = yield* this.#takeAll(instance, input, led);
    } catch (error) {
      if (!(error instanceof ProcessFault)) throw error;
      const { element, code, message: reason } = error;
      led.problems.push(code);
      instance.state = yield* this.#takeAll(
        instance,
        { kind: 'park', at: input.at, element, code, reason },
        led,
      );
    }
  }

  *#takeAll(instance: Instance, input: Input, led: Led): Generator<void, ProcessState> {
    const { use, reach } = this.#process;
    const waiting: Input[] = [input];
    const made: Led = { created: [], problems: [] };
    const tasks: Extract<Effect, { kind: 'open_task' }>[] = [];
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

  /** Notes one effect. @returns what follows from it */
  #do(act: Act, at: string, made: Led, tasks: Extract<Effect, { kind: 'open_task' }>[]): Input | undefined {
    if (act.do === 'tell' && act.event.type === 'process.sla_failed') {
      const { code } = act.event.payload['error'] as { code: string };
      made.problems.push(code);
    }
    if (act.do !== 'effect') return undefined;
    const { effect } = act;
    const { element } = effect;
    switch (effect.kind) {
      case 'open_task': {
        // A task begins without custom fields: a type that requires some refuses it.
        if (this.#process.faultOfFields(effect.typeKey, {})) {
          made.problems.push('custom_fields_invalid');
          return { kind: 'intent_failed', at, element, code: 'custom_fields_invalid', details: {} };
        }
        tasks.push(effect);
        const { typeKey: taskType, title, form, context, dueAt } = effect;
        const assign = peopleOf(effect.assign)[0] ?? null;
        made.created.push({ kind: 'task', element, taskType, title, form, context, assign, dueAt });
        return undefined;
      }
      case 'find_voters':
        return { kind: 'voters', at, element, principals: peopleOf(effect.approvers) };
      case 'ask_approval':
        made.created.push({
          kind: 'approval',
          element,
          approver: effect.principalId,
          comment: effect.comment,
        });
        return undefined;
      case 'open_call':
        made.created.push({ kind: 'call', element, skill: effect.skill, inputs: effect.inputs });
        return undefined;
      case 'open_instance': {
        const { process, instanceKey, data } = effect;
        made.created.push({ kind: 'process', element, process, key: instanceKey, data });
        return undefined;
      }
      case 'escalate':
        made.created.push({
          kind: 'escalation',
          element,
          action: effect.action,
          level: effect.level,
          to: peopleOf(effect.to),
        });
        return undefined;
      default:
        return undefined;
    }
  }

  /** The timer of all instances that is due next; undefined for none up to an instant. */
  nextTimer(upTo: string): { instance: Instance; timer: Timer; dueAt: string } | undefined {
    let next: { instance: Instance; timer: Timer; dueAt: string } | undefined;
    for (const instance of this.instances) {
      if (instance.state.status !== 'running') continue;
      for (const timer of Object.values(instance.state.timers)) {
        const { state, dueAt } = timer;
        if (state !== 'pending' || dueAt === null || dueAt > upTo) continue;
        if (next === undefined || dueAt < next.dueAt) next = { instance, timer, dueAt };
      }
    }
    return next;
  }

  /** The task of a step that is open, as expressions read it when it is done. */
  taskOf(instance: Instance, taskId: string, customFields: JsonObject, isDone: boolean): TaskRoot {
    const task = instance.tasks.get(taskId);
    if (task === undefined) throw new NotSimulated('the task is not one that the process has opened');
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

  isRefused(typeKey: string, fields: JsonObject): boolean {
    return this.#process.faultOfFields(typeKey, fields);
  }
}

export function isLive({ state: { status } }: Instance): boolean {
  return status === 'running' || status === 'suspended';
}

/** In a test a role and an agent stand for one person each: `role:<slug>`, `agent:<key>`. */
function peopleOf(assignees: readonly Assignee[]): string[] {
  const named = assignees.flatMap(({ principal, role, agent, expr = '' }) => {
    if (principal !== undefined) return [principal];
    if (role !== undefined) return [`role:${role}`];
    if (agent !== undefined) return [`agent:${agent}`];
    return expr === '' ? [] : [expr];
  });
  return [...new Set(named)];
}
