import type { ProcessSpec, Stage } from './definition.ts';
import { ExpressionProblem, type Node, parseExpression } from './expressions/parse-expression.ts';
import { type ProcessProblem, pointer, problem, warning } from './problems.ts';
import { innerStepsOf, type Step } from './step.ts';

/** Parts of a definition that can never be reached (docs/reference/processes.md#problems). */

/**
 * Reports the problems `unreachable_step` after a step that always ends the instance; `unreachable_stage` at a stage
 * whose entry is never true; `dead_end` at a repeatable stage that begins again forever; `schema_violation` at a
 * discretionary step that nothing begins; and the warning `unreachable_milestone`.
 */
export function* checkFlow(spec: ProcessSpec): Generator<void, ProcessProblem[]> {
  const found: ProcessProblem[] = [];
  for (const { steps, path } of listsOf(spec)) {
    found.push(...behindAnEnd(steps, path));
    yield;
  }
  const reachable = reachableStages(spec.stages);
  for (const [n, stage] of spec.stages.entries()) {
    const path = pointer('stages', n);
    const isReachable = reachable.has(stage.id);
    if (!isReachable) found.push(problem('unreachable_stage', path, 'its entry never holds'));
    if (stage.repeatable && isAlways(stage.entry))
      found.push(
        problem('dead_end', path, 'it begins again whenever it is completed, so the instance never ends'),
      );
    for (const [m, { when, id }] of stage.discretionary.entries())
      if (when === undefined)
        found.push(
          problem(
            'schema_violation',
            `${path}/discretionary/${m}`,
            `step ${id} requires \`when\`: nothing else begins it`,
          ),
        );
    for (const [m, { when }] of stage.milestones.entries())
      if (!isReachable || isNever(when))
        found.push(warning('unreachable_milestone', `${path}/milestones/${m}`, 'it is never reached'));
  }
  return found;
}

interface StepList {
  readonly steps: readonly Step[];
  readonly path: string;
}

/** Every list of steps, including those inside of steps. */
function* listsOf(spec: ProcessSpec): Generator<StepList> {
  const outer: StepList[] = [
    ...spec.correlate.map(({ do: steps = [] }, n) => ({ steps, path: `/correlate/${n}/do` })),
    ...spec.onEvent.map(({ do: steps }, n) => ({ steps, path: `/onEvent/${n}/do` })),
    ...spec.timers.map(({ do: steps }, n) => ({ steps, path: `/timers/${n}/do` })),
    ...spec.stages.flatMap(({ steps, timers }, n) => [
      ...timers.map((timer, m) => ({ steps: timer.do, path: `/stages/${n}/timers/${m}/do` })),
      { steps, path: `/stages/${n}/steps` },
    ]),
  ];
  // Discretionary steps don't follow each other, but the steps in the lists inside them do.
  const alone = spec.stages.flatMap(({ discretionary }, n) =>
    discretionary.map((step, m) => ({ step, path: `/stages/${n}/discretionary/${m}` })),
  );
  for (const list of outer) yield* withInner(list);
  for (const { step, path } of alone)
    for (const inner of innerStepsOf(step)) yield* withInner({ steps: inner.steps, path: path + inner.path });
}

function* withInner(list: StepList): Generator<StepList> {
  yield list;
  for (const [n, step] of list.steps.entries())
    for (const inner of innerStepsOf(step))
      yield* withInner({ steps: inner.steps, path: `${list.path}/${n}${inner.path}` });
}

function behindAnEnd(steps: readonly Step[], path: string): ProcessProblem[] {
  const end = steps.findIndex(alwaysEnds);
  if (end < 0 || end === steps.length - 1) return [];
  return [
    problem('unreachable_step', `${path}/${end + 1}`, `step ${steps[end]?.id} before it always ends here`),
  ];
}

/**
 * Whether nothing can follow a step: it completes the instance, or raises an error that isn't caught inside the step.
 */
function alwaysEnds(step: Step): boolean {
  if (step.when !== undefined) return false;
  if (step.complete !== undefined || step.raise !== undefined) return true;
  if (step.do !== undefined) return step.do.some(alwaysEnds);
  if (step.fork !== undefined) {
    const { mode, branches } = step.fork;
    return branches[mode === 'all' ? 'some' : 'every'](({ do: steps }) => steps.some(alwaysEnds));
  }
  if (step.try === undefined) return false;
  return step.try.do.some(completes) || (step.try.catch.length === 0 && step.try.do.some(alwaysEnds));
}

function completes(step: Step): boolean {
  return step.when === undefined && (step.complete !== undefined || (step.do ?? []).some(completes));
}

/** The stages that can begin, because every condition that their entry certainly requires can be met. */
function reachableStages(stages: readonly Stage[]): Set<string> {
  const reachable = new Set<string>();
  const endless = new Set(
    stages.filter(({ steps, exit }) => exit === undefined && steps.some(alwaysEnds)).map(({ id }) => id),
  );
  const canBegin = ({ entry, id }: Stage, n: number): boolean => {
    const before = stages[n - 1];
    if (entry === undefined)
      return before === undefined || (reachable.has(before.id) && !endless.has(before.id));
    if (isNever(entry)) return false;
    return neededBy(entry).every(({ stage, state }) => {
      const isKnown = stages.some((other) => other.id === stage);
      if (stage === id) return false;
      return !isKnown || (reachable.has(stage) && !(state === 'completed' && endless.has(stage)));
    });
  };
  for (let before = -1; before < reachable.size; ) {
    before = reachable.size;
    for (const [n, stage] of stages.entries()) if (canBegin(stage, n)) reachable.add(stage.id);
  }
  return reachable;
}

function isNever(text: string): boolean {
  return conjunctsOf(text).some(({ op, args }) => op === 'value' && args === false);
}

function isAlways(text: string | undefined): boolean {
  return text !== undefined && conjunctsOf(text).every(({ op, args }) => op === 'value' && args === true);
}

interface Need {
  readonly stage: string;
  readonly state: string;
}

/** The stages that an expression explicitly requires to be completed, or active. */
function neededBy(text: string): Need[] {
  return conjunctsOf(text).flatMap((node) => {
    if (node.op !== '.' || !['completed', 'active'].includes(node.args[1])) return [];
    const [at, state] = node.args;
    const isStage =
      (at.op === '.' || at.op === '[]') && at.args[0].op === 'id' && at.args[0].args === 'stage';
    if (!isStage) return [];
    const name = at.op === '.' ? at.args[1] : at.args[1].op === 'value' ? at.args[1].args : undefined;
    return typeof name === 'string' ? [{ stage: name, state }] : [];
  });
}

/** The parts that must all be true; empty if the text is not an expression. */
function conjunctsOf(text: string): Node[] {
  try {
    return partsOf(parseExpression(text));
  } catch (error) {
    if (error instanceof ExpressionProblem) return [];
    throw error;
  }
}

function partsOf(node: Node): Node[] {
  return node.op === '&&' ? node.args.flatMap(partsOf) : [node];
}
