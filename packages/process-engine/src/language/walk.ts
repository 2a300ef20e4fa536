import type { DecisionTable, ProcessSpec, Stage, Timer } from './definition.ts';
import type { ProcessEnvironments } from './environments.ts';
import type { Assignee, Due, Escalation, Trigger } from './forms.ts';
import { pointer } from './problems.ts';
import { innerStepsOf, type Step } from './step.ts';

/** The type that an expression must return. */
export type Wanted = 'bool' | 'text' | 'instant' | 'people' | 'anything' | { readonly field: string };

/** An expression or a template of a definition, its location, and its variables. */
export interface Place {
  readonly path: string;
  readonly text: string;
  readonly isTemplate: boolean;
  readonly environment: Exclude<keyof ProcessEnvironments, 'tables'>;
  readonly wanted: Wanted;
  /** The step whose own `step.result` the expression reads. */
  readonly ofResult?: { readonly step: Step; readonly part: 'output' | 'export' };
}

type Scope = Place['environment'];
type Members = Readonly<Record<string, string>> | undefined;

/** Every expression and template of a definition, except those of its decision tables, in document order. */
export function* placesOf(spec: ProcessSpec): Generator<Place> {
  const { start, owner, due, memory, retrospective } = spec;
  yield* assigneesIn(owner, '/owner', 'instance');
  yield* dueIn(due, '/due', 'instance');
  yield* triggerIn(start.on, '/start/on', 'event');
  yield expression('/start/key', start.key, 'event', 'text');
  yield* writesIn(start.set, '/start/set', 'event');
  for (const [n, { on, key, set, do: steps }] of spec.correlate.entries()) {
    yield* triggerIn(on, `/correlate/${n}/on`, 'event');
    yield expression(`/correlate/${n}/key`, key, 'event', 'text');
    yield* writesIn(set, `/correlate/${n}/set`, 'handler');
    yield* stepsIn(steps ?? [], `/correlate/${n}/do`, 'handler');
  }
  for (const [n, { on, key, do: steps }] of spec.onEvent.entries()) {
    yield* triggerIn(on, `/onEvent/${n}/on`, key === undefined ? 'handler' : 'event');
    if (key !== undefined) yield expression(`/onEvent/${n}/key`, key, 'event', 'text');
    yield* stepsIn(steps, `/onEvent/${n}/do`, 'handler');
  }
  yield* timersIn(spec.timers, '/timers');
  for (const [n, table] of spec.decisions.entries()) yield* inputsIn(table, `/decisions/${n}`);
  if (memory !== undefined) yield* memoryIn(memory);
  if (retrospective !== undefined) {
    yield template('/retrospective/title', retrospective.title, 'instance');
    yield* assigneesIn(retrospective.assign, '/retrospective/assign', 'instance');
    yield* dueIn(retrospective.due, '/retrospective/due', 'instance');
  }
  for (const [n, stage] of spec.stages.entries()) yield* stageIn(stage, `/stages/${n}`);
}

function expression(path: string, text: string, environment: Scope, wanted: Wanted): Place {
  return { path, text, environment, wanted, isTemplate: false };
}

function template(path: string, text: string, environment: Scope): Place {
  return { path, text, environment, wanted: 'anything', isTemplate: true };
}

function* inputsIn({ inputs }: DecisionTable, path: string): Generator<Place> {
  for (const [n, { expr }] of inputs.entries())
    yield expression(`${path}/inputs/${n}/expr`, expr, 'handler', 'anything');
}

function* memoryIn({ case: about, facts, entities }: NonNullable<ProcessSpec['memory']>): Generator<Place> {
  yield expression('/memory/case/key', about.key, 'instance', 'text');
  yield template('/memory/case/title', about.title, 'instance');
  for (const [n, { object }] of facts.entries())
    yield template(`/memory/facts/${n}/object`, object, 'instance');
  for (const [n, { key, title }] of entities.entries()) {
    yield expression(`/memory/entities/${n}/key`, key, 'instance', 'text');
    if (title !== undefined) yield template(`/memory/entities/${n}/title`, title, 'instance');
  }
}

function* stageIn(stage: Stage, path: string): Generator<Place> {
  const { entry, exit, milestones } = stage;
  if (entry !== undefined) yield expression(`${path}/entry`, entry, 'instance', 'bool');
  if (exit !== undefined) yield expression(`${path}/exit`, exit, 'instance', 'bool');
  for (const [n, { when }] of milestones.entries())
    yield expression(`${path}/milestones/${n}/when`, when, 'instance', 'bool');
  yield* timersIn(stage.timers, `${path}/timers`);
  yield* stepsIn(stage.steps, `${path}/steps`, 'step');
  yield* stepsIn(stage.discretionary, `${path}/discretionary`, 'step');
}

function* timersIn(timers: readonly Timer[], path: string): Generator<Place> {
  for (const [n, { at, do: steps }] of timers.entries()) {
    yield expression(`${path}/${n}/at`, at, 'instance', 'instant');
    yield* stepsIn(steps, `${path}/${n}/do`, 'step');
  }
}

function* stepsIn(steps: readonly Step[], path: string, scope: Scope): Generator<Place> {
  for (const [n, step] of steps.entries()) yield* stepIn(step, `${path}/${n}`, scope);
}

function* stepIn(step: Step, path: string, scope: Scope): Generator<Place> {
  if (step.when !== undefined) yield expression(`${path}/when`, step.when, scope, 'bool');
  if (step.input !== undefined) yield expression(`${path}/input/from`, step.input.from, scope, 'anything');
  yield* kindIn(step, path, scope);
  if (step.output !== undefined)
    yield {
      ...expression(`${path}/output/as`, step.output.as, scope, 'anything'),
      ofResult: { step, part: 'output' },
    };
  for (const place of exportsIn(step, `${path}/export/as`, scope))
    yield { ...place, ofResult: { step, part: 'export' } };
  for (const inner of innerStepsOf(step)) yield* stepsIn(inner.steps, path + inner.path, scope);
}

function* exportsIn(step: Step, path: string, scope: Scope): Generator<Place> {
  const exported = step.export?.as;
  if (typeof exported === 'string') yield expression(path, 'step.result', scope, { field: exported });
  else yield* writesIn(exported, path, scope);
}

function* kindIn(step: Step, path: string, scope: Scope): Generator<Place> {
  const { human, approve, call, recall, remember, wait, set, listen, raise } = step;
  if (human !== undefined) {
    yield template(`${path}/human/title`, human.title, scope);
    yield* assigneesIn(human.assign, `${path}/human/assign`, scope);
    yield* dueIn(human.due, `${path}/human/due`, scope);
    yield* escalationsIn(human.escalations, `${path}/human/escalations`, scope);
    yield* membersIn(human.context, `${path}/human/context`, scope);
  }
  if (approve !== undefined) {
    yield* assigneesIn(approve.approvers, `${path}/approve/approvers`, scope);
    if (approve.title !== undefined) yield template(`${path}/approve/title`, approve.title, scope);
    yield* dueIn(approve.due, `${path}/approve/due`, scope);
    yield* escalationsIn(approve.escalations, `${path}/approve/escalations`, scope);
  }
  if (call !== undefined) {
    if (call.key !== undefined) yield expression(`${path}/call/key`, call.key, scope, 'text');
    if (call.title !== undefined) yield template(`${path}/call/title`, call.title, scope);
    yield* membersIn(call.input, `${path}/call/input`, scope);
    yield* dueIn(call.due, `${path}/call/due`, scope);
  }
  for (const [n, anchor] of (recall?.anchors ?? []).entries())
    yield template(`${path}/recall/anchors/${n}`, anchor, scope);
  if (remember !== undefined) {
    yield template(`${path}/remember/content`, remember.content, scope);
    yield* membersIn(remember.data, `${path}/remember/data`, scope);
    for (const [n, { subject, object }] of remember.facts.entries()) {
      yield template(`${path}/remember/facts/${n}/subject`, subject, scope);
      yield template(`${path}/remember/facts/${n}/object`, object, scope);
    }
  }
  if (typeof wait === 'object') yield expression(`${path}/wait/at`, wait.at, scope, 'instant');
  yield* writesIn(set, `${path}/set`, scope);
  for (const [n, trigger] of (listen?.any ?? []).entries())
    yield* triggerIn(trigger, `${path}/listen/any/${n}`, 'handler');
  if (raise?.detail !== undefined) yield template(`${path}/raise/detail`, raise.detail, scope);
}

function* triggerIn({ where }: Trigger, path: string, scope: Scope): Generator<Place> {
  if (where !== undefined) yield expression(`${path}/where`, where, scope, 'bool');
}

function* writesIn(set: Members, path: string, scope: Scope): Generator<Place> {
  for (const [field, text] of Object.entries(set ?? {}))
    yield expression(path + pointer(field), text, scope, { field });
}

function* membersIn(named: Members, path: string, scope: Scope): Generator<Place> {
  for (const [name, text] of Object.entries(named ?? {}))
    yield expression(path + pointer(name), text, scope, 'anything');
}

function* assigneesIn(chain: readonly Assignee[] | undefined, path: string, scope: Scope): Generator<Place> {
  for (const [n, { expr }] of (chain ?? []).entries())
    if (expr !== undefined) yield expression(`${path}/${n}/expr`, expr, scope, 'people');
}

function* dueIn(due: Due | undefined, path: string, scope: Scope): Generator<Place> {
  if (due?.at !== undefined) yield expression(`${path}/at`, due.at, scope, 'instant');
}

function* escalationsIn(escalations: readonly Escalation[], path: string, scope: Scope): Generator<Place> {
  for (const [n, { after, to, error }] of escalations.entries()) {
    if (typeof after === 'object') yield expression(`${path}/${n}/after/at`, after.at, scope, 'instant');
    yield* assigneesIn(to, `${path}/${n}/to`, scope);
    if (error?.detail !== undefined) yield template(`${path}/${n}/error/detail`, error.detail, scope);
  }
}
