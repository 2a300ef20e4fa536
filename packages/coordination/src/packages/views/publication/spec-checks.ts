import type { z } from 'zod';
import { measureDocument } from '@baton/values/document-size';
import type { Json } from '@baton/values/wire';
import { comparedValues, typeOf } from '../compared-values.ts';
import { type FieldType, storedValue } from '../field-values.ts';
import { type Field, sources } from '../sources.ts';
import {
  type Filter,
  type FilterOperator,
  type Parameter,
  type ViewBlock,
  ViewSpec,
  valueColumn,
} from '../view-spec.ts';

/** Size as compact JSON in UTF-8: 50 blocks of 30 columns without filter values take 50 KB. */
export const viewBytesMax = 131_072;
const viewNodesMax = 20_000;
const viewDepthMax = 10;
const problemsMax = 50;

const operatorsOf: Record<FieldType, readonly FilterOperator[]> = {
  text: ['eq', 'in', 'prefix'],
  number: ['eq', 'in', 'gte', 'lte'],
  boolean: ['eq'],
  time: ['eq', 'in', 'gte', 'lte'],
  id: ['eq', 'in'],
};

/** Whether a field can be compared with an operator. */
function takesOperator(field: { type: FieldType; words?: unknown }, op: FilterOperator): boolean {
  return operatorsOf[field.type].includes(op) && (field.words === undefined || op !== 'prefix');
}

/** A problem of a view. */
export interface ViewProblem {
  readonly code: 'schema_violation' | 'unknown_field' | 'unknown_param' | 'data_type_mismatch';
  /** A JSON pointer into the view's spec. */
  readonly path: string;
  readonly message: string;
}

export type CheckedView =
  | { readonly spec: ViewSpec; readonly problems: readonly [] }
  | { readonly spec: undefined; readonly problems: readonly ViewProblem[] };

/**
 * Validates the spec of a view (docs/reference/views-and-lists.md#spec) without accessing the database.
 * @returns the spec with its defaults, or at most 50 problems: `schema_violation` for its form, then fields that its
 * sources don't have, parameters that it does not declare, and values of the wrong type
 */
export function checkView(sent: unknown): CheckedView {
  const size = measureDocument(sent as Json);
  const isTooLarge = size.bytes > viewBytesMax || size.nodes > viewNodesMax || size.depth > viewDepthMax;
  if (isTooLarge)
    return failed([{ code: 'schema_violation', path: '', message: `is larger than ${viewBytesMax} bytes` }]);
  const parsed = ViewSpec.safeParse(sent);
  if (!parsed.success) return failed(parsed.error.issues.map(shapeProblem));
  const problems = parsed.data.blocks.flatMap((block, n) => [...blockProblems(block, `/blocks/${n}`)]);
  return problems.length > 0 ? failed(problems) : { spec: parsed.data, problems: [] };
}

function failed(problems: readonly ViewProblem[]): CheckedView {
  return { spec: undefined, problems: problems.slice(0, problemsMax) };
}

function shapeProblem({ path, message }: z.core.$ZodIssue): ViewProblem {
  return { code: 'schema_violation', path: path.map((part) => `/${pointerPart(part)}`).join(''), message };
}

const pointerPart = (part: PropertyKey) => String(part).replaceAll('~', '~0').replaceAll('/', '~1');

function* blockProblems(block: ViewBlock, at: string): Generator<ViewProblem> {
  const { source, columns, filters, params } = block;
  yield* repeated(
    columns.map(({ field }) => field),
    (n) => `${at}/columns/${n}/field`,
  );
  yield* repeated(
    filters.map(({ field, op, value }) => `${field} ${op} ${JSON.stringify(value)}`),
    (n) => `${at}/filters/${n}`,
  );
  yield* repeated(
    params.map(({ name }) => name),
    (n) => `${at}/params/${n}/name`,
  );
  for (const [n, parameter] of params.entries())
    yield* defaultProblems(parameter, `${at}/params/${n}/default`);
  // The fields of `knowledge` belong to the memory service, which no view can read yet.
  if (source === 'knowledge') return;
  const { fields } = sources[source];
  yield* shownProblems(block, fields, at);
  for (const [n, filter] of filters.entries())
    yield* filterProblems(filter, block, fields, `${at}/filters/${n}`);
}

function* repeated(names: readonly string[], pathOf: (n: number) => string): Generator<ViewProblem> {
  for (const [n, name] of names.entries())
    if (names.indexOf(name) !== n)
      yield { code: 'schema_violation', path: pathOf(n), message: 'is a duplicate' };
}

function* defaultProblems({ type, default: given }: Parameter, path: string): Generator<ViewProblem> {
  if (given === undefined) return;
  if (type === 'workspace') yield { code: 'schema_violation', path, message: 'the query sets the workspace' };
  else if (storedValue(type, given) === undefined) yield mismatch(path, `must be of type ${type}`);
}

type Fields = Readonly<Record<string, Field>>;

/** Checks columns, sorts, `groupBy` and `aggregate`. */
function* shownProblems(block: ViewBlock, fields: Fields, at: string): Generator<ViewProblem> {
  const { groupBy, aggregate, columns, sorts } = block;
  if (groupBy !== undefined && !Object.hasOwn(fields, groupBy))
    yield unknownField(`${at}/groupBy`, block, groupBy);
  const isGrouped = groupBy !== undefined || aggregate !== undefined;
  const shown = isGrouped ? [groupBy, valueColumn] : Object.keys(fields);
  const named = [
    ...columns.map(({ field }, n) => ({ field, path: `${at}/columns/${n}/field` })),
    ...sorts.map(({ field }, n) => ({ field, path: `${at}/sorts/${n}/field` })),
  ];
  for (const { field, path } of named) if (!shown.includes(field)) yield unknownField(path, block, field);
  if (aggregate === undefined) return;
  const { fn, field } = aggregate;
  if (field === undefined) {
    if (fn !== 'count')
      yield { code: 'schema_violation', path: `${at}/aggregate`, message: `${fn} requires a field` };
    return;
  }
  const path = `${at}/aggregate/field`;
  if (!Object.hasOwn(fields, field)) yield unknownField(path, block, field);
  else if (!takesFunction(fn, fields[field] as Field))
    yield mismatch(path, `${fn} cannot aggregate ${fields[field]?.type}`);
}

function takesFunction(fn: string, { type }: Field): boolean {
  if (fn === 'count') return true;
  return type === 'number' || (type === 'time' && (fn === 'min' || fn === 'max'));
}

function* filterProblems(
  { field: name, op, value }: Filter,
  block: ViewBlock,
  fields: Fields,
  at: string,
): Generator<ViewProblem> {
  if (!Object.hasOwn(fields, name)) {
    yield unknownField(`${at}/field`, block, name);
    return;
  }
  const field = fields[name] as Field;
  if (!takesOperator(field, op)) yield mismatch(`${at}/op`, `${op} cannot be used with ${name}`);
  else if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    const parameter = block.params.find((one) => one.name === value.param);
    if (parameter === undefined)
      yield {
        code: 'unknown_param',
        path: `${at}/value/param`,
        message: `the block does not declare ${value.param}`,
      };
    else if (typeOf(parameter) !== field.type)
      yield mismatch(`${at}/value/param`, `must be of type ${field.type}`);
  } else if (value !== undefined && comparedValues(field, op, value) === undefined)
    yield mismatch(`${at}/value`, `is not a value that ${op} can compare ${name} with`);
}

function unknownField(path: string, { source }: ViewBlock, field: string): ViewProblem {
  return {
    code: 'unknown_field',
    path,
    message: `${source} have no field ${field.slice(0, 64)} for this use`,
  };
}

function mismatch(path: string, message: string): ViewProblem {
  return { code: 'data_type_mismatch', path, message };
}
