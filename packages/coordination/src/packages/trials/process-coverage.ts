import type { Act } from '@baton/process-engine/engine/inputs';
import type { ProcessSpec } from '@baton/process-engine/language/definition';
import { elementsOf } from '@baton/process-engine/language/elements';
import type { Step } from '@baton/process-engine/language/step';
import { type Coverage, coverageOf } from './coverage.ts';

type Aspect = 'elements' | 'transitions' | 'decisionRows' | 'handlers';
export type ProcessCoverage = { readonly key: string } & { readonly [Name in Aspect]: Coverage };

/**
 * The parts of one process that tests reach: its elements, the exits of each step, the rows of its tables, and its
 * handlers for events, timers and deadlines.
 */
export class ProcessReach {
  readonly key: string;
  readonly #all: { readonly [Name in Aspect]: Set<string> } = emptySets();
  readonly #reached: { readonly [Name in Aspect]: Set<string> } = emptySets();
  readonly #tables: ReadonlySet<string>;
  readonly #branches = new Map<string, readonly string[]>();

  constructor(key: string, spec: ProcessSpec) {
    this.key = key;
    this.#tables = new Set(spec.decisions.map(({ id }) => id));
    const { elements, transitions, decisionRows, handlers } = this.#all;
    for (const { id, kind, step } of elementsOf(spec)) {
      elements.add(id);
      if (kind === 'timer') handlers.add(id);
      for (const way of step === undefined ? [] : waysOf(step)) transitions.add(`${id}:${way}`);
      const levels = (step?.human ?? step?.approve)?.escalations ?? [];
      for (const n of levels.keys()) handlers.add(`${id}/escalations/${n}`);
      if (step?.fork !== undefined)
        this.#branches.set(
          id,
          step.fork.branches.map((branch) => branch.id),
        );
    }
    for (const { id, rules } of spec.decisions)
      for (const n of rules.keys()) decisionRows.add(`${id}/rules/${n}`);
    for (const n of spec.correlate.keys()) handlers.add(`correlate/${n}`);
    for (const n of spec.onEvent.keys()) handlers.add(`event/${n}`);
  }

  /** Records the parts that an input has reached. */
  take(acts: readonly Act[]): void {
    for (const act of acts) {
      if (act.do === 'effect' && act.effect.kind === 'escalate')
        this.#reached.handlers.add(`${act.effect.element}/escalations/${act.effect.level - 1}`);
      if (act.do === 'tell' && act.event.type === 'process.timer_fired')
        this.#enter(String(act.event.payload['element']), true);
      if (act.do === 'note') this.#note(act.note);
    }
  }

  coverage(): ProcessCoverage {
    const of = (name: Aspect) => coverageOf(this.#all[name], this.#reached[name]);
    return {
      key: this.key,
      elements: of('elements'),
      transitions: of('transitions'),
      decisionRows: of('decisionRows'),
      handlers: of('handlers'),
    };
  }

  #enter(id: string, isHandler = false): void {
    this.#reached.elements.add(id);
    if (isHandler) this.#reached.handlers.add(id);
    for (const branch of this.#branches.get(id) ?? []) this.#reached.elements.add(branch);
  }

  #note({ kind, element, reason, data }: Extract<Act, { do: 'note' }>['note']): void {
    if (reason === 'handler') this.#reached.handlers.add(String(data['handler']));
    if (element === null || reason === null) return;
    const way = (name: string) => this.#reached.transitions.add(`${element}:${name}`);
    if (kind === 'intent') this.#enter(element);
    if (kind === 'state') {
      this.#enter(element);
      way(reason);
    }
    if (kind !== 'decision') return;
    if (reason === 'when' && data['holds'] === false) way('passed_over');
    if (reason === 'caught') way(`caught/${String(data['catch'])}`);
    if (typeof data['outcome'] === 'string') way(data['outcome']);
    const { rules } = data;
    if (this.#tables.has(reason) && Array.isArray(rules))
      for (const n of rules) this.#reached.decisionRows.add(`${reason}/rules/${String(n)}`);
  }
}

function emptySets() {
  const [elements, transitions] = [new Set<string>(), new Set<string>()];
  return { elements, transitions, decisionRows: new Set<string>(), handlers: new Set<string>() };
}

/** The exits of a step: done, decided, skipped, late, or failed and caught. */
function waysOf(step: Step): string[] {
  const { approve, call, listen, raise } = step;
  const isLate = call?.timeout !== undefined || listen?.timeout !== undefined;
  return [
    ...(approve !== undefined ? ['approved', 'rejected'] : [raise === undefined ? 'completed' : 'failed']),
    ...(step.when === undefined ? [] : ['passed_over']),
    ...(isLate ? ['timed_out'] : []),
    ...(step.try?.catch ?? []).map((_, n) => `caught/${n}`),
  ];
}
