import { Refusal } from '@baton/kernel/http/refusal';
import { fail } from '../errors.ts';
import { comparedValues, typeOf } from './compared-values.ts';
import { storedValue } from './field-values.ts';
import type { Comparison, SortKey } from './rows.sql.ts';
import type { Field } from './source-fields.sql.ts';
import type { Source } from './sources.ts';
import type { ViewQuery } from './view.ts';
import { type Filter, type Parameter, type Sort, type ViewBlock, valueColumn } from './view-spec.ts';

/** A query of a block, validated against the block's declaration. */
export interface Asked {
  readonly comparisons: readonly Comparison[];
  readonly sorts: readonly Sort[];
}

type Given = Pick<ViewQuery, 'filter' | 'sort' | 'params' | 'workspaceId'>;

/**
 * @throws Refusal `undeclared_filter`, `undeclared_sort`, `workspace_required`, `validation_error` for a value of
 * the wrong type, and for a parameter that is missing or that the block does not declare
 */
export function parseQuery(block: ViewBlock, { fields }: Source, given: Given): Asked {
  for (const { field, op } of given.filter)
    if (!block.filters.some((one) => one.value === undefined && one.field === field && one.op === op))
      fail('undeclared_filter', { field, op, declared: declaredFilters(block) });
  const sorts = given.sort.map(({ field, direction }) => {
    const declared = block.sorts.find(
      (one) => one.field === field && one.direction === (direction ?? one.direction),
    );
    return (
      declared ?? fail('undeclared_sort', { field, ...(direction && { direction }), declared: block.sorts })
    );
  });
  const parameters = parametersOf(block, given);
  const comparisons = [
    ...block.filters.flatMap((filter) => fixed(filter, fields, parameters)),
    ...given.filter.map(({ field: name, op, value }, n) => {
      const field = fields[name] as Field;
      const values = comparedValues(field, op, value);
      return values === undefined ? invalid(`/filter/${n}/value`, 'invalid_value') : { field, op, values };
    }),
  ];
  return { comparisons, sorts: sorts.length > 0 ? sorts : block.sorts.slice(0, 1) };
}

function declaredFilters({ filters }: ViewBlock) {
  return filters.filter(({ value }) => value === undefined).map(({ field, op }) => ({ field, op }));
}

type Values = ReadonlyMap<string, string | number | boolean | null>;

function parametersOf(block: ViewBlock, given: Given): Values {
  if (block.params.some(({ type }) => type === 'workspace') && given.workspaceId == null)
    fail('workspace_required');
  const declared = block.params.filter(({ type }) => type !== 'workspace');
  for (const name of Object.keys(given.params))
    if (!declared.some((one) => one.name === name)) invalid(`/params/${name}`, 'unknown_param');
  return new Map(block.params.map((parameter) => [parameter.name, valueOf(parameter, given)]));
}

function valueOf(parameter: Parameter, { params, workspaceId }: Given): string | number | boolean | null {
  const { name, type } = parameter;
  if (type === 'workspace') return workspaceId as string;
  const sent = Object.hasOwn(params, name) ? params[name] : parameter.default;
  if (sent === undefined) return invalid(`/params/${name}`, 'missing_param');
  if (sent === null) return null;
  return storedValue(typeOf(parameter), sent) ?? invalid(`/params/${name}`, 'invalid_value');
}

/** The filters that always apply in a block. A null parameter disables its filter. */
function fixed(
  { field: name, op, value }: Filter,
  fields: Source['fields'],
  parameters: Values,
): Comparison[] {
  if (value === undefined) return [];
  const field = fields[name] as Field;
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return [{ field, op, values: comparedValues(field, op, value) ?? null }];
  const given = parameters.get(value.param) ?? null;
  if (given === null) return [];
  return [{ field, op, values: comparedValues(field, op, op === 'in' ? [given] : given) ?? null }];
}

function invalid(path: string, code: string): never {
  throw new Refusal('validation_error', { errors: [{ path, code }] });
}

/** The number of characters of a string that are compared when sorting, so that each value fits into a cursor. */
const sortedCharactersMax = 100;

/** The sort keys of a list, and whether the source has an index in that order. */
export function keysOfRows(
  { fields, orderedBy }: Source,
  sorts: readonly Sort[],
): { keys: SortKey[]; isOwnOrder: boolean } {
  const own: Sort = { field: orderedBy, direction: 'desc' };
  const asked = sorts.length > 0 ? sorts : [own];
  const keys = asked.map(({ field: name, direction }) => keyOf(fields[name] as Field, direction));
  const { direction } = asked.at(-1) as Sort;
  const isOwnOrder = asked.length === 1 && asked[0]?.field === orderedBy;
  return { keys: [...keys, { expression: 't.id', storedAs: 'uuid', direction }], isOwnOrder };
}

function keyOf({ expression, storedAs }: Field, direction: Sort['direction']): SortKey {
  const shown = storedAs === 'text' ? `left(${expression}, ${sortedCharactersMax})` : expression;
  return { expression: shown, storedAs, direction };
}

/** The sort keys of groups: the last one is the value of `groupBy`, which is unique. */
export function keysOfGroups(
  groupBy: Field | undefined,
  valueStoredAs: string,
  sorts: readonly Sort[],
): SortKey[] {
  const group = { expression: 'g', storedAs: groupBy?.storedAs ?? 'boolean' };
  const asked = sorts.map(({ field, direction }) =>
    field === valueColumn
      ? { expression: 'value', storedAs: valueStoredAs, direction }
      : { ...group, direction },
  );
  return asked.some(({ expression }) => expression === 'g')
    ? asked
    : [...asked, { ...group, direction: 'asc' }];
}
