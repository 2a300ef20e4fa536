import type { Correlation, ProcessSpec, Stage, Timer } from '../language/definition.ts';
import type { Trigger } from '../language/forms.ts';
import { innerStepsOf, type Step } from '../language/step.ts';

/** A handler of an event, from `correlate` or `onEvent`. */
export interface Handler {
  readonly on: Trigger;
  /** The instance that the event is for; undefined for the one that emitted it, or whose open work it concerns. */
  readonly key: string | undefined;
  readonly set: Correlation['set'];
  /** The key of the handler's list of steps: `correlate/<n>`, `event/<n>`; undefined for a handler that only writes. */
  readonly list: string | undefined;
}

/** A definition prepared for the engine: every list of steps by key, and every element by id. */
export interface Definition {
  readonly key: string;
  readonly version: number;
  readonly spec: ProcessSpec;
  /** The handlers of `correlate`, then those of `onEvent`: inputs refer to them by their index here. */
  readonly handlers: readonly Handler[];
  /**
   * Keys: `stage/<id>`, `discretionary/<step id>`, `timer/<id>`, `correlate/<n>`, `event/<n>`, and `<step id>` with a
   * path for lists inside a step.
   */
  readonly lists: ReadonlyMap<string, readonly Step[]>;
  readonly steps: ReadonlyMap<string, Step>;
  readonly stages: ReadonlyMap<string, Stage>;
  /** Timers of the definition and of its stages, each with its stage. */
  readonly timers: ReadonlyMap<string, { readonly timer: Timer; readonly stage: string | null }>;
}

export function prepareDefinition(key: string, spec: ProcessSpec): Definition {
  const lists = new Map<string, readonly Step[]>();
  const steps = new Map<string, Step>();
  const keep = (listKey: string, list: readonly Step[]): void => {
    lists.set(listKey, list);
    for (const step of list) {
      steps.set(step.id, step);
      for (const inner of innerStepsOf(step)) keep(step.id + inner.path, inner.steps);
    }
  };
  const timers = new Map<string, { timer: Timer; stage: string | null }>();
  const keepTimers = (given: readonly Timer[], stage: string | null) => {
    for (const timer of given) {
      timers.set(timer.id, { timer, stage });
      keep(`timer/${timer.id}`, timer.do);
    }
  };
  for (const stage of spec.stages) {
    keep(`stage/${stage.id}`, stage.steps);
    for (const step of stage.discretionary) keep(discretionaryList(step.id), [step]);
    keepTimers(stage.timers, stage.id);
  }
  keepTimers(spec.timers, null);
  const handlers = handlersOf(spec);
  for (const { list, do: own } of handlers) if (list !== undefined && own !== undefined) keep(list, own);
  const stages = new Map(spec.stages.map((stage) => [stage.id, stage]));
  return { key, version: spec.version, spec, handlers, lists, steps, stages, timers };
}

/** The key of the list of one discretionary step. Each such step has its own list, because it begins separately. */
export const discretionaryList = (step: string) => `discretionary/${step}`;

/** The handlers of a definition, in the order by which inputs refer to them. */
export function handlersOf({
  correlate,
  onEvent,
}: Pick<ProcessSpec, 'correlate' | 'onEvent'>): (Handler & { readonly do: readonly Step[] | undefined })[] {
  return [
    ...correlate.map(({ on, key, set, do: list }, n) => ({
      on,
      key,
      set,
      do: list,
      list: list === undefined ? undefined : `correlate/${n}`,
    })),
    ...onEvent.map(({ on, key, do: list }, n) => ({ on, key, set: undefined, do: list, list: `event/${n}` })),
  ];
}
