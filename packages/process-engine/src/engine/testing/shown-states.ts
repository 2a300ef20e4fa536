import type { Json, JsonObject } from '@baton/values/wire';
import type { ProcessState } from '../state.ts';
import type { Interpreter } from './interpreter.ts';

/** An instance in the form in which the engine's state and the interpreter's are compared. */

/** The awaited event, reduced to its type. @param nameOf returns the definition's name of an event */
function withShortEvents(data: JsonObject, nameOf: (event: JsonObject) => Json): JsonObject {
  return Object.fromEntries(
    Object.entries(data).map(([field, value]) => {
      const isEvent = typeof value === 'object' && value !== null && 'correlationId' in value;
      return [field, isEvent ? { event: nameOf(value) } : value];
    }),
  );
}

export function shownState(state: ProcessState, nameOf = (event: JsonObject) => event['type'] as Json) {
  const elements = Object.values(state.nodes).filter((node) => node.kind === 'element');
  return {
    status: state.status,
    outcome: state.outcome,
    data: withShortEvents(state.data, nameOf),
    slaState: state.slaState,
    stages: Object.entries(state.stages)
      .map(([id, { state: is, attempt }]) => `${id} ${is} ${attempt}`)
      .sort(),
    milestones: Object.entries(state.milestones)
      .filter(([, is]) => is)
      .map(([id]) => id)
      .sort(),
    open: elements
      .map(({ id, attempt, waitsFor, slaState }) => `${id}#${attempt} ${waitsFor} ${slaState}`)
      .sort(),
    timers: Object.values(state.timers)
      .filter(({ state: is }) => is === 'pending' || is === 'frozen')
      .map(
        ({ element, purpose, level, dueAt }) =>
          `${element === state.id ? '' : element} ${purpose} ${level} ${dueAt}`,
      )
      .sort(),
  };
}

export function shownModel(model: Interpreter): ReturnType<typeof shownState> {
  return {
    status: model.status as ProcessState['status'],
    outcome: model.outcome,
    data: model.data,
    slaState: model.slaState as ProcessState['slaState'],
    stages: [...model.stages].map(([id, { state: is, attempt }]) => `${id} ${is} ${attempt}`).sort(),
    milestones: [...model.milestones]
      .filter(([, is]) => is)
      .map(([id]) => id)
      .sort(),
    open: [...model.open.values()]
      .map(({ id, attempt, waitsFor, slaState }) => `${id}#${attempt} ${waitsFor} ${slaState}`)
      .sort(),
    timers: model.timers
      .map(
        ({ element, purpose, level, dueMs }) =>
          `${element} ${purpose} ${level} ${dueMs === null ? null : new Date(dueMs).toISOString()}`,
      )
      .sort(),
  };
}
