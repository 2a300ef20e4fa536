import { innerStepsOf, kindOf, type Step } from '../../language/step.ts';
import { type Definition, discretionaryList } from '../definition-lists.ts';
import type { ElementMap } from '../inputs.ts';

/**
 * Maps the elements of one version of a definition to those of a later one (docs/reference/processes.md#migration:
 * `migrations`).
 */

export interface MigrationPlan {
  readonly from: Definition;
  readonly to: Definition;
  readonly map: ElementMap;
  /** The id in the later version of an element of the earlier version; null if the author removed the element. */
  readonly became: (id: string) => string | null;
  /** The later version of a step; null if no step of its kind corresponds to it. */
  readonly stepOf: (id: string) => string | null;
  /** The later version of a list of steps, by key. */
  readonly listOf: (key: string) => string | null;
}

/** @param map the later version's entries for elements with changed ids; the others keep theirs */
export function planMigration(from: Definition, to: Definition, map: ElementMap): MigrationPlan {
  const became = (id: string) => (Object.hasOwn(map, id) ? (map[id] as string | null) : id);
  const stepOf = (id: string) => {
    const [before, name] = [from.steps.get(id), became(id)];
    const now = name === null ? undefined : to.steps.get(name);
    return before !== undefined && now !== undefined && kindOf(before) === kindOf(now) ? now.id : null;
  };
  const lists = new Map<string, string | null>();
  const keep = (key: string, target: string | null) =>
    lists.set(key, target !== null && to.lists.has(target) ? target : null);
  for (const id of from.stages.keys()) keep(`stage/${id}`, `stage/${became(id)}`);
  for (const { discretionary } of from.stages.values())
    for (const { id } of discretionary) keep(discretionaryList(id), discretionaryList(became(id) ?? ''));
  for (const id of from.timers.keys()) keep(`timer/${id}`, `timer/${became(id)}`);
  for (const kind of ['correlate', 'onEvent'] as const) {
    const name = kind === 'correlate' ? 'correlate' : 'event';
    const found = matched(from.spec[kind], to.spec[kind], became);
    for (const n of from.spec[kind].keys())
      keep(`${name}/${n}`, found.has(n) ? `${name}/${found.get(n)}` : null);
  }
  for (const step of from.steps.values()) {
    const now = to.steps.get(stepOf(step.id) ?? '');
    const catches = matched(step.try?.catch ?? [], now?.try?.catch ?? [], became);
    for (const { path } of innerStepsOf(step))
      keep(step.id + path, now === undefined ? null : innerListOf(path, step, now, catches, became));
  }
  return { from, to, map, became, stepOf, listOf: (key) => lists.get(key) ?? null };
}

/** Maps the path of a list inside of a step to the step's later version: a branch is found by its id. */
function innerListOf(
  path: string,
  step: Step,
  now: Step,
  catches: ReadonlyMap<number, number>,
  became: MigrationPlan['became'],
): string | null {
  const [, holder, number] = /^\/(fork\/branches|try\/catch)\/(\d+)\/do$/.exec(path) ?? [];
  if (holder === undefined) return now.id + path;
  const n =
    holder === 'try/catch'
      ? catches.get(Number(number))
      : now.fork?.branches.findIndex(
          ({ id }) => id === became(step.fork?.branches[Number(number)]?.id ?? ''),
        );
  return n === undefined || n < 0 ? null : `${now.id}/${holder}/${n}/do`;
}

interface Handler {
  readonly on?: unknown;
  readonly key?: unknown;
  readonly do?: readonly Step[] | undefined;
}

/**
 * Matches handlers, which have indexes and no ids: the one with a step of the earlier handler, otherwise the one with
 * the same trigger. Each handler is matched only once.
 */
function matched(
  before: readonly Handler[],
  now: readonly Handler[],
  became: MigrationPlan['became'],
): Map<number, number> {
  const found = new Map<number, number>();
  const take = (isSame: (n: number, m: number) => boolean) => {
    const taken = new Set(found.values());
    for (const n of before.keys()) {
      if (found.has(n)) continue;
      const m = now.findIndex((_, index) => !taken.has(index) && isSame(n, index));
      if (m < 0) continue;
      found.set(n, m);
      taken.add(m);
    }
  };
  const ids = now.map(({ do: steps = [] }) => new Set<string | null>(steps.map(({ id }) => id)));
  take((n, m) => (before[n]?.do ?? []).some(({ id }) => ids[m]?.has(became(id)) === true));
  const heardBy = (handlers: readonly Handler[]) => handlers.map(({ on, key }) => JSON.stringify([on, key]));
  const [heardBefore, heard] = [heardBy(before), heardBy(now)];
  take((n, m) => heardBefore[n] === heard[m]);
  return found;
}

export interface MigrationFault {
  readonly code: 'element_kind_changed' | 'schema_violation';
  readonly message: string;
}

/** The problems that prevent instances of a version from migrating to another; checked once for all, at publication. */
export function* checkMigration(
  plan: MigrationPlan,
  kinds: { readonly before: ReadonlyMap<string, string>; readonly now: ReadonlyMap<string, string> },
): Generator<void, MigrationFault[]> {
  const found: MigrationFault[] = [];
  const wrong = (message: string) => found.push({ code: 'schema_violation', message });
  const version = plan.from.version;
  for (const id of Object.keys(plan.map))
    if (!kinds.before.has(id)) wrong(`version ${version} has no element ${id}`);
  const taken = new Map<string, string>();
  for (const [id, kind] of kinds.before) {
    const name = plan.became(id);
    const now = name === null ? undefined : kinds.now.get(name);
    if (name === null || now === undefined) continue;
    if (now !== kind)
      found.push({
        code: 'element_kind_changed',
        message: `${id} of version ${version} was ${kind}, and ${name} is ${now}`,
      });
    const other = taken.get(name);
    if (other !== undefined) wrong(`${other} and ${id} of version ${version} would both be ${name}`);
    taken.set(name, id);
  }
  yield;
  const listOfStep = new Map<string, string>();
  for (const [key, steps] of plan.to.lists) for (const { id } of steps) listOfStep.set(id, key);
  for (const [key, steps] of plan.from.lists) {
    for (const { id } of steps) {
      const name = plan.stepOf(id);
      if (name !== null && listOfStep.get(name) !== plan.listOf(key)) wrong(movedText(plan, id, name));
    }
    yield;
  }
  for (const [id, { stage }] of plan.from.timers) {
    const name = plan.became(id);
    const now = name === null ? undefined : plan.to.timers.get(name);
    if (name !== null && now !== undefined && now.stage !== (stage && plan.became(stage)))
      wrong(movedText(plan, id, name));
  }
  return found;
}

const movedText = ({ from }: MigrationPlan, id: string, name: string) =>
  `${name} is in another list than ${id} of version ${from.version}: map ${id} to null, or pin the instances`;
