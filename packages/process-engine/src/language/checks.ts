import type { JsonObject } from '@baton/values/wire';
import { type ProcessSpec } from './definition.ts';
import { type Element, elementsOf } from './elements.ts';
import {
  asResult,
  environmentsOf,
  type ProcessEnvironments,
  resultTypeOf,
  withResult,
} from './environments.ts';
import { compileExpression, type ExpressionEnvironment, type Program } from './expressions/expressions.ts';
import { ExpressionProblem } from './expressions/parse-expression.ts';
import { dyn, isWritable, mayFit, nameOf, type SchemaReading, type Type } from './expressions/types.ts';
import { checkFlow } from './flow.ts';
import { type ProcessProblem, problem, warning } from './problems.ts';
import type { Step } from './step.ts';
import { checkTables } from './tables.ts';
import { partsOfTemplate } from './templates.ts';
import { type Place, placesOf, type Wanted } from './walk.ts';

/** Checks of a definition alone, without the objects that it refers to (docs/reference/processes.md#problems). */

/**
 * The maximum number of problems in expressions that are reported: a repeated mistake need not be listed everywhere.
 */
const problemsMax = 100;

export interface CheckedDefinition {
  readonly problems: readonly ProcessProblem[];
  /** Keys of the calendars that the expressions use, each with a location; null for the calendar of the process. */
  readonly calendars: ReadonlyMap<string | null, string>;
}

/**
 * @param before the elements of the previous version
 * @param outputs the outputs of the skills that it calls, by `name@version`, if their contracts are known @returns all
 * problems of the definition itself. Yields so that other work can run.
 */
export function* checkDefinition(
  spec: ProcessSpec,
  before: ReadonlyMap<string, string>,
  outputs: ReadonlyMap<string, JsonObject> = new Map(),
): Generator<void, CheckedDefinition> {
  const elements = [...elementsOf(spec)];
  const found = [
    ...duplicates(spec, elements),
    ...changes(elements, before),
    ...referencesInside(spec, elements),
  ];
  yield;
  const dataType = environmentsOf(spec).instance.variables.get('data') as Type;
  const use: DataUse = { type: dataType, read: new Map(), written: new Set() };
  const calendars = new Map<string | null, string>();
  const named = (key: string | null, path: string) => {
    if (!calendars.has(key)) calendars.set(key, path);
  };
  const inputTypes = new Map<string, Type>();
  const environments = environmentsOf(spec);
  // Has its own budget for patterns, because the other checks have already charged these patterns.
  const results = new KnownResults(spec, environmentsOf(spec), outputs);
  for (const place of placesOf(spec)) {
    const at = /^\/decisions\/(\d+)\/inputs\/(\d+)\//.exec(place.path);
    for (const [text, path] of expressionsAt(place)) {
      const checked = compiled(text, path, environments[place.environment]);
      if ('code' in checked) found.push(checked);
      else {
        const problems = wantedProblems(checked, place, use);
        found.push(...(problems.length > 0 ? problems : results.problemsOf(place, use.type)));
        for (const name of checked.reads) if (!use.read.has(name)) use.read.set(name, path);
        for (const key of checked.calendars) named(key, path);
        const table = spec.decisions[Number(at?.[1])];
        if (table !== undefined)
          inputTypes.set(`${table.id}/${table.inputs[Number(at?.[2])]?.id}`, checked.type);
      }
      yield;
    }
    if (place.isTemplate && partsOfTemplate(place.text) === undefined)
      found.push(
        problem('expression_syntax_error', place.path, 'a placeholder is not closed, or there are too many'),
      );
    if (found.length > problemsMax) break;
  }
  const withTypes: ProcessEnvironments = environmentsOf(spec, inputTypes);
  found.push(...(yield* checkTables(spec, withTypes, named)));
  found.push(...(yield* checkFlow(spec)));
  found.push(...unwritten(use));
  if (spec.owner === undefined)
    found.push(warning('process_owner_missing', '/owner', 'the process has no owner'));
  return { problems: found, calendars };
}

/** The expressions at a location: the expression itself, or those in a template. */
function expressionsAt({ path, text, isTemplate }: Place): [string, string][] {
  if (!isTemplate) return [[text, path]];
  const parts = partsOfTemplate(text) ?? [];
  return parts.flatMap(({ expression }): [string, string][] =>
    expression === undefined ? [] : [[expression, path]],
  );
}

function compiled(text: string, path: string, environment: ExpressionEnvironment): Program | ProcessProblem {
  try {
    return compileExpression(text, environment);
  } catch (error) {
    if (!(error instanceof ExpressionProblem)) throw error;
    return problem(error.code, path, error.message);
  }
}

interface DataUse {
  readonly type: Type;
  /** Fields that expressions read, with the first location of each. */
  readonly read: Map<string, string>;
  readonly written: Set<string>;
}

const kindsWanted: Readonly<Record<Exclude<Wanted, object>, readonly string[] | undefined>> = {
  bool: ['bool'],
  text: ['string', 'int'],
  instant: ['timestamp'],
  people: ['string', 'list'],
  anything: undefined,
};

function wantedProblems({ type }: Program, { wanted, path }: Place, use: DataUse): ProcessProblem[] {
  if (typeof wanted === 'object') return writeProblems(type, wanted.field, path, use);
  const kinds = kindsWanted[wanted];
  if (kinds === undefined || type.kind === 'dyn' || kinds.includes(type.kind)) return [];
  return [problem('expression_type_error', path, `yields ${nameOf(type)} instead of ${kinds.join(' or ')}`)];
}

/** The known types of step results while outputs and exports are checked, in the order of `placesOf`. */
class KnownResults {
  readonly #spec: ProcessSpec;
  readonly #environments: ProcessEnvironments;
  readonly #outputs: ReadonlyMap<string, JsonObject>;
  /** The type of the result after `output`, for the exports that follow. */
  #shaped: { readonly step: Step; readonly type: Type } | undefined;

  constructor(
    spec: ProcessSpec,
    environments: ProcessEnvironments,
    outputs: ReadonlyMap<string, JsonObject>,
  ) {
    this.#spec = spec;
    this.#environments = environments;
    this.#outputs = outputs;
  }

  /** Checks an expression that reads its own step's result, if the type of the result is known. */
  problemsOf({ ofResult, environment, text, path, wanted }: Place, dataType: Type): ProcessProblem[] {
    if (ofResult === undefined) return [];
    const { step, part } = ofResult;
    const checkedBy = (result: Type) =>
      compiled(text, path, withResult(this.#environments[environment], result));
    const exact = checkedBy(this.#resultOf(step, part));
    // JSON has only one kind of number, so a value may support arithmetic that the number type in the schema does not.
    const checked = 'code' in exact ? checkedBy(this.#resultOf(step, part, { hasAnyNumbers: true })) : exact;
    if (part === 'output') this.#shaped = { step, type: 'code' in checked ? dyn : asResult(checked.type) };
    if ('code' in checked) return [checked];
    if (typeof wanted !== 'object') return [];
    const target = fieldType(dataType, wanted.field);
    return target === undefined || mayFit(checked.type, target)
      ? []
      : [mismatch(checked.type, target, wanted.field, path)];
  }

  #resultOf(step: Step, part: 'output' | 'export', as: SchemaReading = {}): Type {
    if (part === 'output' || step.output === undefined)
      return resultTypeOf(step, this.#spec, this.#outputs, as);
    // If the output itself is invalid, its type is unknown.
    const isKnown = this.#shaped?.step === step && as.hasAnyNumbers !== true;
    return isKnown ? (this.#shaped?.type ?? dyn) : dyn;
  }
}

function fieldType(data: Type, field: string): Type | undefined {
  if (data.kind === 'object') return data.fields.get(field);
  return data.kind === 'map' ? data.of : undefined;
}

function mismatch(type: Type, target: Type, field: string, path: string): ProcessProblem {
  return problem(
    'data_type_mismatch',
    path,
    `${nameOf(type)} does not fit ${field}, which is ${nameOf(target)}`,
  );
}

function writeProblems(type: Type, field: string, path: string, use: DataUse): ProcessProblem[] {
  use.written.add(field);
  const target = fieldType(use.type, field);
  if (use.type.kind !== 'dyn' && target === undefined)
    return [problem('unknown_data_field', path, `data declares no ${field}`)];
  return target === undefined || isWritable(type, target) ? [] : [mismatch(type, target, field, path)];
}

/**
 * Fields that are read, but that no step, start or event writes: only the caller that starts an instance could set
 * them.
 */
function unwritten({ read, written }: DataUse): ProcessProblem[] {
  return [...read]
    .filter(([field]) => field !== '*' && !written.has(field))
    .map(([field, path]) =>
      warning('unwritten_data_field', path, `no step, start or event writes data.${field}`),
    );
}

function duplicates(spec: ProcessSpec, elements: readonly Element[]): ProcessProblem[] {
  const tables = spec.decisions.flatMap(({ id, inputs, outputs }, n) => [
    { id: `table ${id}`, path: `/decisions/${n}` },
    ...inputs.map((input, m) => ({
      id: `input ${id} ${input.id.replaceAll('-', '_')}`,
      path: `/decisions/${n}/inputs/${m}`,
    })),
    ...outputs.map((output, m) => ({
      id: `output ${id} ${output.id}`,
      path: `/decisions/${n}/outputs/${m}`,
    })),
  ]);
  const seen = new Set<string>();
  const twice = [...elements, ...tables].flatMap(({ id, path }) => {
    const isNew = !seen.has(id);
    seen.add(id);
    return isNew ? [] : [problem('duplicate_element_id', `${path}/id`, `${id} is a duplicate`)];
  });
  return [...twice, ...sameLists(elements)];
}

/**
 * Reports ids that would give two lists the same key: a step with the id `stage` has its steps under the key
 * `stage/do`, and so does a stage with the id `do`.
 */
function sameLists(elements: readonly Element[]): ProcessProblem[] {
  if (!elements.some(({ id }) => id === 'do')) return [];
  return elements
    .filter(({ id, kind }) => kind === 'do' && ['stage', 'timer', 'discretionary'].includes(id))
    .map(({ id, path }) =>
      problem(
        'duplicate_element_id',
        `${path}/id`,
        `a step ${id} with steps can not be combined with an element named do`,
      ),
    );
}

/** Compares what an id refers to in the previous version with what it refers to now. */
function changes(elements: readonly Element[], before: ReadonlyMap<string, string>): ProcessProblem[] {
  const now = new Map(elements.map(({ id, kind }) => [id, kind]));
  const changed = elements.filter(({ id, kind }) => before.has(id) && before.get(id) !== kind);
  return [
    ...changed.map(({ id, kind, path }) =>
      problem(
        'element_kind_changed',
        path,
        `${id} was ${before.get(id)} in the previous version, and is now ${kind}`,
      ),
    ),
    ...[...before.keys()]
      .filter((id) => !now.has(id))
      .slice(0, problemsMax)
      .map((id) => warning('element_removed', '', `${id} of the previous version was removed`)),
  ];
}

/** Checks the names of tables, steps and versions that a definition refers to in itself. */
function referencesInside(spec: ProcessSpec, elements: readonly Element[]): ProcessProblem[] {
  const ids = new Set(elements.map(({ id }) => id));
  const tables = new Set(spec.decisions.map(({ id }) => id));
  const ofSteps = elements.flatMap(({ step, path }) => {
    const { decide, compensate } = step ?? {};
    if (decide !== undefined && !tables.has(decide.table))
      return [problem('unknown_decision_table', `${path}/decide/table`, `no table is named ${decide.table}`)];
    if (!Array.isArray(compensate)) return [];
    return compensate
      .filter((id) => !ids.has(id))
      .map((id) => problem('schema_violation', `${path}/compensate`, `no step has the id ${id}`));
  });
  const ofMigrations = spec.migrations.flatMap(({ from, to, map }, n) => {
    const path = `/migrations/${n}`;
    const targets = Object.values(map ?? {}).filter((id) => id !== null && !ids.has(id));
    return [
      ...(from < to ? [] : [problem('schema_violation', `${path}/from`, 'must be below to')]),
      ...(to === spec.version ? [] : [problem('schema_violation', `${path}/to`, 'must be this version')]),
      ...targets.map((id) => problem('schema_violation', `${path}/map`, `no element has the id ${id}`)),
    ];
  });
  return [...ofSteps, ...ofMigrations];
}
