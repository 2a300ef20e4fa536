import type { ProcessSpec, Stage, Timer } from '../process-language/definition.ts';
import { innerStepsOf, type Step } from '../process-language/step.ts';

/** A definition made ready for the engine: every list of steps by its key, and every element by its id. */
export interface Definition {
  readonly key: string;
  readonly version: number;
  readonly spec: ProcessSpec;
  /** Keys: `stage/<id>`, `timer/<id>`, `correlate/<n>`, `event/<n>`, and `<step id>` with a path for what stands in a step. */
  readonly lists: ReadonlyMap<string, readonly Step[]>;
  readonly steps: ReadonlyMap<string, Step>;
  readonly stages: ReadonlyMap<string, Stage>;
  /** Timers of the definition and of its stages, with the stage of each. */
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
    keepTimers(stage.timers, stage.id);
  }
  keepTimers(spec.timers, null);
  for (const [n, { do: list }] of spec.correlate.entries())
    if (list !== undefined) keep(`correlate/${n}`, list);
  for (const [n, { do: list }] of spec.onEvent.entries()) keep(`event/${n}`, list);
  const stages = new Map(spec.stages.map((stage) => [stage.id, stage]));
  return { key, version: spec.version, spec, lists, steps, stages, timers };
}
