import { measureDocument } from '@baton/values/document-size';
import type { Json } from '@baton/values/wire';

/**
 * Conditions of preconditions (docs/reference/rules.md#condition): true, false, or an object of one operator. `{ var:
 * "a.b" }` reads a path, `{ const: … }` is a literal.
 */

const bytesMax = 16_384;
const nodesMax = 256;
const partsMax = 50;
const pathForm = /^[A-Za-z0-9_-]{1,64}(\.[A-Za-z0-9_-]{1,64}){0,15}$/;
const comparisons = ['eq', 'ne', 'lt', 'le', 'gt', 'ge', 'in'];

/** Limits of a condition in addition to its grammar. */
export interface ConditionBounds {
  /** Maximum nesting of operators. */
  readonly levelsMax?: number;
  /** The allowed roots of a path; any if absent. */
  readonly roots?: readonly string[];
}

/** What is wrong with a condition; undefined if it is valid. */
export function findConditionFault(condition: Json, bounds: ConditionBounds = {}): string | undefined {
  const { bytes, nodes } = measureDocument(condition);
  if (bytes > bytesMax) return `is larger than ${bytesMax} bytes`;
  if (nodes > nodesMax) return `has more than ${nodesMax} nodes`;
  const { levelsMax } = bounds;
  if (levelsMax !== undefined && levelsOf(condition) > levelsMax)
    return `has more than ${levelsMax} nested operators`;
  return faultInPart(condition) ?? foreignRoot(condition, bounds.roots);
}

/** The nesting depth of operators; at most the number of the condition's nodes. */
function levelsOf(condition: Json): number {
  const [[operator, content] = []] = membersOf(condition);
  if (operator === undefined || content === undefined) return 0;
  const parts = operator === 'and' || operator === 'or' || operator === 'not' ? [content].flat() : [];
  return 1 + Math.max(0, ...parts.map(levelsOf));
}

function foreignRoot(condition: Json, roots: readonly string[] | undefined): string | undefined {
  if (roots === undefined) return undefined;
  const foreign = pathsIn(condition).find((path) => !roots.includes(rootOf(path)));
  return foreign === undefined ? undefined : `${rootOf(foreign)} is not one of ${roots.join(', ')}`;
}

/** The first segment of a path. */
export function rootOf(path: string): string {
  return path.split('.', 1)[0] ?? '';
}

/** The paths that a well-formed condition reads. */
export function pathsIn(condition: Json): string[] {
  if (Array.isArray(condition)) return condition.flatMap(pathsIn);
  return membersOf(condition).flatMap(([name, content]) => {
    if (name === 'const') return [];
    if ((name === 'var' || name === 'exists') && typeof content === 'string') return [content];
    return pathsIn(content);
  });
}

/**
 * Finds the fault in a part of a condition. Recursion is limited by the depth of the condition's document, at most 20
 * levels.
 */
function faultInPart(part: Json): string | undefined {
  if (typeof part === 'boolean') return undefined;
  const [[operator, content] = [], ...others] = membersOf(part);
  if (operator === undefined || content === undefined || others.length > 0)
    return 'must be true, false or an object of one operator';
  if (operator === 'not') return faultInPart(content);
  if (operator === 'exists') return isPath(content) ? undefined : 'exists needs a path';
  if (operator === 'and' || operator === 'or') {
    if (!Array.isArray(content) || content.length < 1 || content.length > partsMax)
      return `${operator} needs 1 to ${partsMax} conditions`;
    return content.map(faultInPart).find((fault) => fault !== undefined);
  }
  if (!comparisons.includes(operator)) return `the operator ${operator.slice(0, 64)} is unknown`;
  const isPair = Array.isArray(content) && content.length === 2 && content.every(isOperand);
  return isPair ? undefined : `${operator} needs two operands`;
}

function isOperand(operand: Json): boolean {
  if (typeof operand !== 'object' || operand === null) return true;
  if (Array.isArray(operand)) return operand.every(isOperand);
  const [[name, content] = [], ...others] = membersOf(operand);
  if (others.length > 0 || content === undefined) return false;
  return name === 'const' || (name === 'var' && isPath(content));
}

/** A dotted path of 1 to 16 segments. */
export function isPath(path: Json): path is string {
  return typeof path === 'string' && pathForm.test(path);
}

function membersOf(value: Json): [string, Json][] {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.entries(value) : [];
}
