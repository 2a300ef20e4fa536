import type { ChildEnd } from '@baton/process-engine/engine/inputs';
import { durationMs } from '@baton/process-engine/engine/machine';
import type { ElementNode, EventRoot } from '@baton/process-engine/engine/state';
import type { Json, JsonObject } from '@baton/values/wire';
import { type EngineTime, NotSimulated, type Outcome } from './outcome.ts';
import {
  type Instance,
  isLive,
  type Led,
  ProcessSimulation,
  type SimulatedProcess,
} from './process-simulation.ts';
import type { TestStep } from './test-document.ts';

/** Tests of a process (docs/reference/packages.md#tests). */

/** The maximum number of timers that fire in one `advance`. */
const timersMax = 1000;
const lastMs = Date.UTC(9999, 0, 1);

/** One test of a process, step by step. */
export class ProcessTest {
  readonly #simulation: ProcessSimulation;
  #now: string;
  /** The instance that the last act concerned. */
  #current: Instance | undefined;

  constructor(process: SimulatedProcess, now: string, time: EngineTime) {
    this.#simulation = new ProcessSimulation(process, time);
    this.#now = now;
  }

  *step({ send, complete, decide, advance }: TestStep): Generator<void, Outcome> {
    const led: Led = { created: [], problems: [] };
    let refused: string | null = null;
    if (send !== undefined) yield* this.#send(send, led);
    if (complete !== undefined) refused = yield* this.#complete(complete, led);
    if (decide !== undefined) refused = yield* this.#decide(decide, led);
    if (advance !== undefined) yield* this.#advance(advance, led);
    const { state } = this.#current ?? {};
    const open = Object.values(state?.nodes ?? {}).flatMap(({ kind, id }) =>
      kind === 'element' ? [id] : [],
    );
    return { status: state?.status ?? null, open, data: state?.data ?? {}, ...led, refused };
  }

  *#send({ event, observation, payload }: NonNullable<TestStep['send']>, led: Led): Generator<void, void> {
    const type = event ?? 'observation.recorded';
    const sent = observation === undefined ? payload : { ...payload, kind: observation };
    const failed = failures.find((one) => one.type === type);
    if (failed !== undefined && typeof sent['element'] === 'string')
      return yield* this.#fail(sent['element'], failed, sent, led);
    const [entityType = ''] = observation === undefined ? type.split('.') : ['observation'];
    const root = this.#event(type, entityType, this.#simulation.newId('entity'), sent);
    this.#current = (yield* this.#simulation.deliver(root, led)) ?? this.#current;
  }

  #event(
    type: string,
    entityType: string,
    entityId: string,
    payload: JsonObject,
    actorId: string | null = null,
  ): EventRoot {
    const id = this.#simulation.newId('event');
    return { id, type, time: this.#now, entityType, entityId, actorId, correlationId: null, payload };
  }

  /** The object that a step waits for has failed: the payload names the step, and optionally the error. */
  *#fail(
    element: string,
    { type, waitsFor, entityType }: Failing,
    payload: JsonObject,
    led: Led,
  ): Generator<void, void> {
    const { instance, node } = this.#openAt(element) ?? {};
    if (instance === undefined || node?.waitsFor !== waitsFor)
      throw new NotSimulated(`${type} of ${element}, which does not wait for this event`);
    const id = (node.taskId ?? node.callId ?? node.childId) as string;
    const event = this.#event(type, entityType, id, payload);
    const { code = defaultErrors[waitsFor], message = '' } = (payload['error'] ?? {}) as JsonObject;
    const error = { code: String(code), message: String(message) };
    const of =
      waitsFor === 'task'
        ? { task: this.#simulation.taskOf(instance, id, {}, false) }
        : waitsFor === 'skill'
          ? { call: { id, skill: '', status: 'failed', output: null, error } }
          : { child: childOf('failed', null, { type: error.code, status: null, detail: error.message }) };
    yield* this.#take(instance, event, of, led);
  }

  *#take(instance: Instance, event: EventRoot, of: object, led: Led): Generator<void, void> {
    this.#current = instance;
    yield* this.#simulation.take(instance, { kind: 'event', at: this.#now, event, ...of }, led);
  }

  *#complete(
    { element, output = null }: NonNullable<TestStep['complete']>,
    led: Led,
  ): Generator<void, string | null> {
    const open = this.#openAt(element);
    if (open === undefined) return this.#absent();
    const { instance, node } = open;
    const { callId, childId, taskId, recallId } = node;
    if (callId !== undefined && node.waitsFor === 'skill') {
      const event = this.#event('skill.invocation_succeeded', 'skill_invocation', callId, {});
      const call = { id: callId, skill: '', status: 'succeeded', output, error: null };
      yield* this.#take(instance, event, { call }, led);
      return null;
    }
    if (childId !== undefined && node.waitsFor === 'process') {
      const event = this.#event('process.completed', 'process_instance', childId, {});
      yield* this.#take(instance, event, { child: childOf('completed', objectOf(output), null) }, led);
      return null;
    }
    if (recallId !== undefined && node.waitsFor === 'memory') {
      const found = { asOf: this.#now, nodeCount: 0, edgeCount: 0, truncated: false, resultHash: '' };
      const result = objectOf(output);
      const recalled = { kind: 'recalled', at: this.#now, element, recallId, ...found, result } as const;
      this.#current = instance;
      yield* this.#simulation.take(instance, recalled, led);
      return null;
    }
    if (taskId === undefined || node.waitsFor !== 'task') return 'invalid_process_instance_state';
    const isOfAgent = node.stepKind === 'call';
    const fields = isOfAgent ? {} : objectOf(output);
    const task = this.#simulation.taskOf(instance, taskId, fields, true);
    if (!isOfAgent && this.#simulation.isRefused(instance, taskId, fields)) return 'custom_fields_invalid';
    const event = this.#event('task.completed', 'task', taskId, {}, task.assigneeId);
    yield* this.#take(instance, event, { task, ...(isOfAgent && output !== null && { output }) }, led);
    return null;
  }

  *#decide(
    { element, outcome, by }: NonNullable<TestStep['decide']>,
    led: Led,
  ): Generator<void, string | null> {
    const open = this.#openAt(element);
    if (open === undefined) return this.#absent();
    const { instance, node } = open;
    if (node.waitsFor !== 'approvals') return 'invalid_process_instance_state';
    const asked = (node.ballots ?? []).filter(({ asked: was, vote }) => was && vote === 'pending');
    const ballot = by === undefined ? asked[0] : asked.find(({ principalId }) => principalId === by);
    if (ballot === undefined) return 'not_found';
    const type = outcome === 'approve' ? 'approval.approved' : 'approval.rejected';
    const event = this.#event(type, 'approval', ballot.approvalId, {}, ballot.principalId);
    yield* this.#take(instance, event, {}, led);
    return null;
  }

  #absent(): string {
    return this.#current !== undefined && !isLive(this.#current)
      ? 'invalid_process_instance_state'
      : 'not_found';
  }

  /** The open element with that id: of the last instance, or of another one. */
  #openAt(id: string): { instance: Instance; node: ElementNode } | undefined {
    const all = [...(this.#current === undefined ? [] : [this.#current]), ...this.#simulation.instances];
    for (const instance of all) {
      const node = instance.state.nodes[id];
      if (node?.kind === 'element') return { instance, node };
    }
    return undefined;
  }

  /** Advances the clock: each timer fires at its instant, in order. */
  *#advance(duration: string, led: Led): Generator<void, void> {
    const untilMs = Date.parse(this.#now) + durationMs(duration);
    if (!(untilMs < lastMs)) throw new NotSimulated('time beyond the year 9998');
    const until = new Date(untilMs).toISOString();
    for (let fired = 0; ; fired += 1) {
      const next = this.#simulation.nextTimer(until);
      if (next === undefined) break;
      if (fired === timersMax) throw new NotSimulated(`more than ${timersMax} timers in one advance`);
      const { instance, timer, dueAt } = next;
      this.#now = dueAt > this.#now ? dueAt : this.#now;
      this.#current = instance;
      yield* this.#simulation.take(instance, { kind: 'timer', at: this.#now, timerId: timer.id }, led);
      yield;
    }
    this.#now = until;
  }
}

interface Failing {
  readonly type: string;
  readonly waitsFor: 'task' | 'skill' | 'process';
  readonly entityType: string;
}

/** Events that report the failure of the step that their payload names. */
const failures: readonly Failing[] = [
  { type: 'task.cancelled', waitsFor: 'task', entityType: 'task' },
  { type: 'skill.invocation_failed', waitsFor: 'skill', entityType: 'skill_invocation' },
  { type: 'process.failed', waitsFor: 'process', entityType: 'process_instance' },
];
const defaultErrors = { task: 'task_cancelled', skill: 'skill_failed', process: 'process_failed' };

/** How an instance of a called process ends: `output` has its outcome and its data. */
function childOf(status: string, output: JsonObject | null, error: ChildEnd['error']): ChildEnd {
  const { outcome = null, data = {} } = output ?? {};
  return { status, outcome: typeof outcome === 'string' ? outcome : null, data: objectOf(data), error };
}

function objectOf(output: Json): JsonObject {
  if (output === null) return {};
  if (typeof output === 'object' && !Array.isArray(output)) return output;
  throw new NotSimulated('an output that is not an object, as tasks and processes return');
}
