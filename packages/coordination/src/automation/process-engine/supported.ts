import type { ProcessSpec } from '../process-language/definition.ts';
import { innerStepsOf, kindOf, type Step } from '../process-language/step.ts';
import { engineKinds } from './step-kinds.ts';

/** Something in a definition that the engine does not do. */
export interface Unsupported {
  /** Where it stands, as `/stages/0/steps/1`. */
  readonly path: string;
  /** What it is: a kind of step, or a member of the definition. */
  readonly what: string;
}

/** All that the engine would not do of a definition: it is refused when it is published, and not waved through. */
export function unsupportedOf(spec: ProcessSpec): Unsupported[] {
  const found: Unsupported[] = [];
  const refuse = (path: string, what: string) => found.push({ path, what });
  const look = (steps: readonly Step[], path: string): void => {
    for (const [n, step] of steps.entries()) {
      const at = `${path}/${n}`;
      const kind = kindOf(step);
      if (!engineKinds.includes(kind)) refuse(at, kind);
      for (const inner of innerStepsOf(step)) look(inner.steps, at + inner.path);
    }
  };
  for (const [n, stage] of spec.stages.entries()) {
    look(stage.steps, `/stages/${n}/steps`);
    if (stage.discretionary.length > 0) refuse(`/stages/${n}/discretionary`, 'discretionary');
    for (const [t, timer] of stage.timers.entries()) look(timer.do, `/stages/${n}/timers/${t}/do`);
  }
  for (const [n, timer] of spec.timers.entries()) look(timer.do, `/timers/${n}/do`);
  for (const [n, { do: steps = [] }] of spec.correlate.entries()) look(steps, `/correlate/${n}/do`);
  for (const n of spec.onEvent.keys()) refuse(`/onEvent/${n}`, 'onEvent');
  return found;
}
