import type { JsonObject } from '@baton/values/wire';
import type { Call } from '../language/step.ts';
import { activityId } from './ids/activity-ids.ts';
import type { ChildEnd, Effect, ProcessEvent } from './inputs.ts';
import { type Machine, ProcessFault } from './machine.ts';
import { failElement, finish, payloadOfEntered } from './sequences.ts';
import type { ElementNode, WaitsFor } from './state.ts';

/** Calls of skills, of agents and of other processes (docs/reference/processes.md#steps). */

const titleCharactersMax = 500;
const keyCharactersMax = 500;

/** The objects that the step of a call waits for. */
export function waitedForBy(call: Call | undefined): WaitsFor {
  if (call?.agent !== undefined) return 'task';
  return call?.process === undefined ? 'skill' : 'process';
}

/** Opens the object that a call waits for, with an id that is always the same for this attempt. */
export function openCall(m: Machine, node: ElementNode, call: Call): void {
  const inputs = m.evaluateAll(call.input, m.rootsIn(node));
  const effect = effectOf(m, node, call, inputs);
  const entered: ProcessEvent = { type: 'process.step_entered', payload: payloadOfEntered(node) };
  m.effect(effect, entered);
}

function effectOf(m: Machine, node: ElementNode, call: Call, inputs: JsonObject): Effect {
  const { id: element, attempt } = node;
  const id = (purpose: string) => activityId(m.state.id, element, attempt, purpose);
  if (call.skill !== undefined) {
    node.callId = id('call');
    return { kind: 'open_call', element, callId: node.callId, skill: call.skill, inputs };
  }
  if (call.process !== undefined) {
    node.childId = id('instance');
    const { process } = call;
    return {
      kind: 'open_instance',
      element,
      childId: node.childId,
      process,
      instanceKey: keyOf(m, node, call),
      data: inputs,
    };
  }
  // Work for an agent is a task assigned to it, which the agent's runner claims like any other.
  node.taskId = id('task');
  const title = call.title === undefined ? '' : m.tools.render(call.title, m.rootsIn(node));
  return {
    kind: 'open_task',
    element,
    taskId: node.taskId,
    typeKey: call.taskType ?? '',
    title: title.slice(0, titleCharactersMax),
    form: null,
    context: inputs,
    assign: [{ agent: call.agent }],
    dueAt: node.due?.dueAt ?? null,
    isForSomebody: true,
  };
}

/** The key of the called instance: the one that the step specifies, or a unique one. */
function keyOf(m: Machine, node: ElementNode, { key }: Call): string {
  if (key === undefined) return `process:${m.state.id}/${node.id}/${node.attempt}`;
  const value = m.evaluate(key, m.rootsIn(node));
  const text = typeof value === 'number' ? String(value) : value;
  if (typeof text !== 'string' || text === '' || text.length > keyCharactersMax)
    throw new ProcessFault('expression_error', `a key must be a text of 1 to ${keyCharactersMax} characters`);
  return text;
}

/** A called instance has ended: its outcome and data are the result, and its failure is an error of the step. */
export function takeChild(m: Machine, node: ElementNode, { status, outcome, data, error }: ChildEnd): void {
  node.isAnswered = true;
  if (status === 'completed') return finish(m, node, { outcome, data });
  const { type, ...rest } = error ?? { type: 'process_failed', status: null, detail: null };
  failElement(m, node, { type, ...rest });
}
