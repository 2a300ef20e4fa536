import type { Json } from '@baton/kernel/wire';
import { measureDocument } from '../../service/documents.ts';

/**
 * Conditions of preconditions (organisation, section 8.3): true, false, or an object of one operator. `{ var: "a.b" }`
 * reads a path, `{ const: … }` is taken as it is.
 */

const bytesMax = 16_384;
const nodesMax = 256;
const partsMax = 50;
const pathForm = /^[A-Za-z0-9_-]{1,64}(\.[A-Za-z0-9_-]{1,64}){0,15}$/;
const comparisons = ['eq', 'ne', 'lt', 'le', 'gt', 'ge', 'in'];

/** What is wrong with a condition; undefined when nothing is. */
export function faultInCondition(condition: Json): string | undefined {
  const { bytes, nodes } = measureDocument(condition);
  if (bytes > bytesMax) return `is larger than ${bytesMax} bytes`;
  if (nodes > nodesMax) return `has more than ${nodesMax} nodes`;
  return faultInPart(condition);
}

/** Goes as deep as the document that the condition stands in, which is 20 levels at most. */
function faultInPart(part: Json): string | undefined {
  if (typeof part === 'boolean') return undefined;
  const [[operator, content] = [], ...others] = membersOf(part);
  if (operator === undefined || content === undefined || others.length > 0)
    return 'must be true, false or an object of one operator';
  if (operator === 'not') return faultInPart(content);
  if (operator === 'exists') return isPath(content) ? undefined : 'exists takes a path';
  if (operator === 'and' || operator === 'or') {
    if (!Array.isArray(content) || content.length < 1 || content.length > partsMax)
      return `${operator} takes 1 to ${partsMax} conditions`;
    return content.map(faultInPart).find((fault) => fault !== undefined);
  }
  if (!comparisons.includes(operator)) return `the operator ${operator.slice(0, 64)} is unknown`;
  const isPair = Array.isArray(content) && content.length === 2 && content.every(isOperand);
  return isPair ? undefined : `${operator} takes two operands`;
}

function isOperand(operand: Json): boolean {
  if (typeof operand !== 'object' || operand === null) return true;
  if (Array.isArray(operand)) return operand.every(isOperand);
  const [[name, content] = [], ...others] = membersOf(operand);
  if (others.length > 0 || content === undefined) return false;
  return name === 'const' || (name === 'var' && isPath(content));
}

function isPath(path: Json): boolean {
  return typeof path === 'string' && pathForm.test(path);
}

function membersOf(value: Json): [string, Json][] {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.entries(value) : [];
}
