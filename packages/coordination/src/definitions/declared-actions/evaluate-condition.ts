import type { Json } from '@baton/values/wire';

/** Thrown if a condition compares values without an order, such as a number and a text, or takes too many steps. */
export class ConditionFault extends Error {}

/** The roots of a condition's paths, by name. */
export type Roots = { [name: string]: Json };

/**
 * A condition has at most 256 nodes, but the compared values come from events, each of up to 65,536 bytes. A step is a
 * node of the condition or a compared value; 100,000 take about 10 ms.
 */
export const conditionStepsMax = 100_000;

/** The remaining steps of one or more conditions together. */
export interface Steps {
  left: number;
}

/**
 * Evaluates a condition (docs/reference/rules.md#condition). A path without a value is null. Equality is that of JSON,
 * so true is not 1. Nothing is smaller or larger than null.
 * @param condition a valid condition, as checked by `findConditionFault`
 * @param steps shared by conditions that are evaluated together
 * @throws ConditionFault
 */
export function holdsCondition(
  condition: Json,
  roots: Roots,
  steps: Steps = { left: conditionStepsMax },
): boolean {
  return new Evaluation(roots, steps).holds(condition);
}

class Evaluation {
  readonly #roots: Roots;
  readonly #steps: Steps;

  constructor(roots: Roots, steps: Steps) {
    this.#roots = roots;
    this.#steps = steps;
  }

  holds(condition: Json): boolean {
    this.#step();
    if (typeof condition === 'boolean') return condition;
    const [[operator, content] = []] = Object.entries(condition as object) as [string, Json][];
    switch (operator) {
      case 'and':
        return (content as Json[]).every((part) => this.holds(part));
      case 'or':
        return (content as Json[]).some((part) => this.holds(part));
      case 'not':
        return !this.holds(content as Json);
      case 'exists':
        return valueAt(content as string, this.#roots) !== null;
      default: {
        const [left, right] = (content as Json[]).map((operand) => this.#valueOf(operand)) as [Json, Json];
        return this.#compare(operator as string, left, right);
      }
    }
  }

  #step(): void {
    this.#steps.left -= 1;
    if (this.#steps.left < 0) throw new ConditionFault('the condition takes too many steps');
  }

  #compare(operator: string, left: Json, right: Json): boolean {
    if (operator === 'eq') return this.#areEqual(left, right);
    if (operator === 'ne') return !this.#areEqual(left, right);
    if (operator === 'in') return this.#isAmong(left, right);
    if (left === null || right === null) return false;
    const areOrdered =
      (typeof left === 'number' && typeof right === 'number') ||
      (typeof left === 'string' && typeof right === 'string');
    if (!areOrdered) throw new ConditionFault(`${operator} takes two numbers or two texts`);
    if (operator === 'lt') return left < right;
    if (operator === 'le') return left <= right;
    return operator === 'gt' ? left > right : left >= right;
  }

  #isAmong(value: Json, list: Json): boolean {
    if (list === null) return false;
    if (!Array.isArray(list)) throw new ConditionFault('in takes a list');
    return list.some((item) => this.#areEqual(value, item));
  }

  /**
   * Compares two values. Recursion is limited by the shallower of the two documents, which were both stored: 20 levels,
   * or a few more.
   */
  #areEqual(left: Json, right: Json): boolean {
    this.#step();
    if (typeof left !== 'object' || left === null || typeof right !== 'object' || right === null)
      return left === right;
    if (Array.isArray(left) || Array.isArray(right)) {
      if (!Array.isArray(left) || !Array.isArray(right) || left.length !== right.length) return false;
      return left.every((item, index) => this.#areEqual(item, right[index] as Json));
    }
    const names = Object.keys(left);
    if (names.length !== Object.keys(right).length) return false;
    return names.every(
      (name) => Object.hasOwn(right, name) && this.#areEqual(left[name] as Json, right[name] as Json),
    );
  }

  #valueOf(operand: Json): Json {
    this.#step();
    if (typeof operand !== 'object' || operand === null) return operand;
    if (Array.isArray(operand)) return operand.map((item) => this.#valueOf(item));
    if (typeof operand['var'] === 'string') return valueAt(operand['var'], this.#roots);
    return operand['const'] ?? null;
  }
}

/**
 * The value at a path; null if it has none. Only fields of objects and elements of lists are read, not inherited
 * properties.
 */
export function valueAt(path: string, roots: Roots): Json {
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
