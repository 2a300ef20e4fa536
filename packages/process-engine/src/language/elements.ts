import type { ProcessSpec, Timer } from './definition.ts';
import { innerStepsOf, kindOf, type Step, type StepKind } from './step.ts';

/** All elements of a definition with their own id (docs/reference/processes.md#language). */

export interface Element {
  readonly id: string;
  readonly kind: StepKind | 'stage' | 'milestone' | 'timer' | 'branch';
  readonly path: string;
  /** The kind of a step. */
  readonly step?: Step;
}

/** In document order. */
export function* elementsOf(spec: ProcessSpec): Generator<Element> {
  for (const [n, { do: steps = [] }] of spec.correlate.entries()) yield* stepsOf(steps, `/correlate/${n}/do`);
  for (const [n, { do: steps }] of spec.onEvent.entries()) yield* stepsOf(steps, `/onEvent/${n}/do`);
  yield* timersOf(spec.timers, '/timers');
  for (const [n, stage] of spec.stages.entries()) {
    const path = `/stages/${n}`;
    yield { id: stage.id, kind: 'stage', path };
    for (const [m, { id }] of stage.milestones.entries())
      yield { id, kind: 'milestone', path: `${path}/milestones/${m}` };
    yield* timersOf(stage.timers, `${path}/timers`);
    yield* stepsOf(stage.steps, `${path}/steps`);
    yield* stepsOf(stage.discretionary, `${path}/discretionary`);
  }
}

function* timersOf(timers: readonly Timer[], path: string): Generator<Element> {
  for (const [n, { id, do: steps }] of timers.entries()) {
    yield { id, kind: 'timer', path: `${path}/${n}` };
    yield* stepsOf(steps, `${path}/${n}/do`);
  }
}

function* stepsOf(steps: readonly Step[], path: string): Generator<Element> {
  for (const [n, step] of steps.entries()) {
    const at = `${path}/${n}`;
    yield { id: step.id, kind: kindOf(step), path: at, step };
    for (const [m, { id }] of (step.fork?.branches ?? []).entries())
      yield { id, kind: 'branch', path: `${at}/fork/branches/${m}` };
    for (const inner of innerStepsOf(step)) yield* stepsOf(inner.steps, at + inner.path);
  }
}
