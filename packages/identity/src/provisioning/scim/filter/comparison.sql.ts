import { InstantInput } from '@baton/values/wire';
import { fail } from '../../errors.ts';
import type { Attribute } from '../protocol/attributes.ts';
import { collateText, isUuid } from './expression.sql.ts';
import type { LeafFilter, Operator } from './filter-grammar.ts';
import type { SqlValues } from './sql-scope.ts';

/**
 * Compares one expression with a value (RFC 7644, table 3). The operators depend on the type:
 *
 * | type                       | operators                                    |
 * | -------------------------- | -------------------------------------------- |
 * | any, compared with `null`  | `eq`, `ne`                                   |
 * | boolean                    | `eq`, `ne`                                   |
 * | dateTime                   | `eq`, `ne`, `gt`, `ge`, `lt`, `le`           |
 * | binary                     | `eq`, `ne`, `co`, `sw`, `ew`                 |
 * | string, reference          | all                                          |
 *
 * An absent value is null: it matches `ne` and `eq null`, and no other comparison.
 */

const signs: Partial<Record<Operator, string>> = {
  eq: '=',
  ne: 'is distinct from',
  gt: '>',
  ge: '>=',
  lt: '<',
  le: '<=',
};

/** The operators that become `like`, each with the pattern around the literal text. */
const patterns: Partial<Record<Operator, (literal: string) => string>> = {
  co: (literal) => `%${literal}%`,
  sw: (literal) => `${literal}%`,
  ew: (literal) => `%${literal}`,
};

const uuidForm = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** @throws Refusal `scim_invalid_filter` for an operator or a value that is invalid for the attribute */
export function comparisonCondition(
  attribute: Attribute,
  expression: string,
  filter: LeafFilter,
  values: SqlValues,
): string {
  // Only strings can be empty, and an empty string doesn't count as a value.
  if (filter.kind === 'present')
    return mayBeEmpty(attribute, expression) ? `(${expression} <> '')` : `(${expression} is not null)`;
  const { operator, value } = filter;
  if (value === null) return nullCondition(operator, `${expression} is null`, `${expression} is not null`);
  if (attribute.type === 'boolean') return booleanCondition(expression, operator, value, values);
  if (typeof value !== 'string') return fail('scim_invalid_filter');
  if (attribute.type === 'dateTime') return instantCondition(expression, operator, value, values);
  // Not cast to text, so that the index of the ids is used.
  if (isUuid(expression) && operator === 'eq' && uuidForm.test(value))
    return `(${expression} = ${values.add(value)}::uuid)`;
  return textCondition(attribute, expression, operator, value, values);
}

function mayBeEmpty({ type }: Attribute, expression: string): boolean {
  return type !== 'boolean' && type !== 'dateTime' && !isUuid(expression);
}

/**
 * `eq null` means absent, `ne null` means present. @throws Refusal `scim_invalid_filter` for other operators
 */
export function nullCondition(operator: Operator, isAbsent: string, isPresent: string): string {
  if (operator === 'eq') return `(${isAbsent})`;
  return operator === 'ne' ? `(${isPresent})` : fail('scim_invalid_filter');
}

function booleanCondition(
  expression: string,
  operator: Operator,
  value: string | number | boolean,
  values: SqlValues,
): string {
  // Some directories send "True".
  const word = String(value).toLowerCase();
  if ((operator !== 'eq' && operator !== 'ne') || (word !== 'true' && word !== 'false'))
    return fail('scim_invalid_filter');
  return `(${expression} ${signs[operator]} ${values.add(word === 'true')}::boolean)`;
}

function instantCondition(expression: string, operator: Operator, value: string, values: SqlValues): string {
  const sign = signs[operator];
  const instant = InstantInput.safeParse(value);
  if (sign === undefined || !instant.success) return fail('scim_invalid_filter');
  return `(${expression} ${sign} ${values.add(instant.data)}::timestamptz)`;
}

function textCondition(
  attribute: Attribute,
  expression: string,
  operator: Operator,
  value: string,
  values: SqlValues,
): string {
  const left = collateText(attribute, expression);
  const right = (text: string) => collateText(attribute, `${values.add(text)}::text`);
  const pattern = patterns[operator];
  if (pattern !== undefined) return `(${left} like ${right(pattern(value.replaceAll(/[\\%_]/g, '\\$&')))})`;
  // Binary values have no order.
  if (attribute.type === 'binary' && operator !== 'eq' && operator !== 'ne')
    return fail('scim_invalid_filter');
  return `(${left} ${signs[operator]} ${right(value)})`;
}
