import { isDeepStrictEqual } from 'node:util';
import type { Json } from '@baton/kernel/wire';

/** A condition compares what has no order, such as a number and a text. */
export class ConditionFault extends Error {}

/** What the paths of a condition start from, by name. */
export type Roots = { [name: string]: Json };

/**
 * Whether a condition holds (organisation, section 8.3). What a path does not find is null; equality is that of JSON, so
 * true is not 1; nothing is smaller or larger than null.
 * @param condition one that `faultInCondition` found nothing wrong with
 * @throws ConditionFault
 */
export function holdsCondition(condition: Json, roots: Roots): boolean {
  if (typeof condition === 'boolean') return condition;
  const [[operator, content] = []] = Object.entries(condition as object) as [string, Json][];
  switch (operator) {
    case 'and':
      return (content as Json[]).every((part) => holdsCondition(part, roots));
    case 'or':
      return (content as Json[]).some((part) => holdsCondition(part, roots));
    case 'not':
      return !holdsCondition(content as Json, roots);
    case 'exists':
      return valueAt(content as string, roots) !== null;
    default: {
      const [left, right] = (content as Json[]).map((operand) => valueOf(operand, roots)) as [Json, Json];
      return compare(operator as string, left, right);
    }
  }
}

function compare(operator: string, left: Json, right: Json): boolean {
  if (operator === 'eq') return isDeepStrictEqual(left, right);
  if (operator === 'ne') return !isDeepStrictEqual(left, right);
  if (operator === 'in') return isAmong(left, right);
  if (left === null || right === null) return false;
  const areOrdered =
    (typeof left === 'number' && typeof right === 'number') ||
    (typeof left === 'string' && typeof right === 'string');
  if (!areOrdered) throw new ConditionFault(`${operator} takes two numbers or two texts`);
  if (operator === 'lt') return left < right;
  if (operator === 'le') return left <= right;
  return operator === 'gt' ? left > right : left >= right;
}

function isAmong(value: Json, list: Json): boolean {
  if (list === null) return false;
  if (!Array.isArray(list)) throw new ConditionFault('in takes a list');
  return list.some((item) => isDeepStrictEqual(value, item));
}

function valueOf(operand: Json, roots: Roots): Json {
  if (typeof operand !== 'object' || operand === null) return operand;
  if (Array.isArray(operand)) return operand.map((item) => valueOf(item, roots));
  if (typeof operand['var'] === 'string') return valueAt(operand['var'], roots);
  return operand['const'] ?? null;
}

/** Members of objects and elements of lists; nothing that every object or list has by itself. */
function valueAt(path: string, roots: Roots): Json {
  let value: Json | undefined = roots;
  for (const segment of path.split('.')) {
    if (Array.isArray(value)) value = /^\d+$/.test(segment) ? value[Number(segment)] : null;
    else value = isObject(value) && Object.hasOwn(value, segment) ? value[segment] : null;
  }
  return value ?? null;
}

function isObject(value: Json | undefined): value is { [name: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
