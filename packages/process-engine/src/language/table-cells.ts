import type { Node } from './expressions/parse-expression.ts';

/** The values that a cell in a decision table matches, if its expression reveals them. */

type Scalar = string | number | boolean;

export type Cell =
  | { readonly kind: 'any' }
  /** Numbers from one bound to another. */
  | {
      readonly kind: 'range';
      readonly low: number;
      readonly high: number;
      readonly openLow: boolean;
      readonly openHigh: boolean;
    }
  | { readonly kind: 'values'; readonly values: readonly Scalar[] }
  /** A cell that reads other variables or uses other operators: its values are unknown. */
  | { readonly kind: 'unknown' };

const any: Cell = { kind: 'any' };
const unknown: Cell = { kind: 'unknown' };

/** @param variable the name of the input */
export function cellOf(node: Node, variable: string): Cell {
  switch (node.op) {
    case 'value':
      return node.args === true ? any : node.args === false ? { kind: 'values', values: [] } : unknown;
    case 'id':
      return node.args === variable ? { kind: 'values', values: [true] } : unknown;
    case '!_':
      return isVariable(node.args, variable) ? { kind: 'values', values: [false] } : unknown;
    case '&&':
      return both(cellOf(node.args[0], variable), cellOf(node.args[1], variable));
    case 'in':
      return membership(node.args, variable);
    case '==':
    case '<':
    case '<=':
    case '>':
    case '>=':
      return comparison(node.op, node.args, variable);
    default:
      return unknown;
  }
}

function isVariable(node: Node, variable: string): boolean {
  return node.op === 'id' && node.args === variable;
}

function scalarOf(node: Node): Scalar | undefined {
  if (node.op === '-_') {
    const positive = scalarOf(node.args);
    return typeof positive === 'number' ? -positive : undefined;
  }
  if (node.op !== 'value') return undefined;
  const { args } = node;
  if (typeof args === 'bigint') return Number(args);
  return ['string', 'number', 'boolean'].includes(typeof args) ? (args as Scalar) : undefined;
}

function membership([item, list]: readonly [Node, Node], variable: string): Cell {
  if (!isVariable(item, variable) || list.op !== 'list') return unknown;
  const values = list.args.map(scalarOf);
  return values.every((value) => value !== undefined) ? { kind: 'values', values } : unknown;
}

const mirrored: Readonly<Record<string, string>> = { '<': '>', '<=': '>=', '>': '<', '>=': '<=', '==': '==' };

function comparison(op: string, [left, right]: readonly [Node, Node], variable: string): Cell {
  if (isVariable(right, variable)) return comparison(mirrored[op] as string, [right, left], variable);
  const value = isVariable(left, variable) ? scalarOf(right) : undefined;
  if (value === undefined) return unknown;
  if (op === '==') return { kind: 'values', values: [value] };
  if (typeof value !== 'number') return unknown;
  return op.startsWith('<')
    ? { kind: 'range', low: Number.NEGATIVE_INFINITY, openLow: true, high: value, openHigh: op === '<' }
    : { kind: 'range', low: value, openLow: op === '>', high: Number.POSITIVE_INFINITY, openHigh: true };
}

/** The values that both cells match. */
export function both(a: Cell, b: Cell): Cell {
  if (a.kind === 'unknown' || b.kind === 'unknown') return unknown;
  if (a.kind === 'any') return b;
  if (b.kind === 'any') return a;
  if (a.kind === 'values') return { kind: 'values', values: a.values.filter((value) => admits(b, value)) };
  if (b.kind === 'values') return both(b, a);
  const low = Math.max(a.low, b.low);
  const high = Math.min(a.high, b.high);
  const openLow = [a, b].some((one) => one.low === low && one.openLow);
  const openHigh = [a, b].some((one) => one.high === high && one.openHigh);
  const isEmpty = low > high || (low === high && (openLow || openHigh));
  return isEmpty ? { kind: 'values', values: [] } : { kind: 'range', low, high, openLow, openHigh };
}

/** Whether the cell matches a value; true for an unknown cell. */
export function admits(cell: Cell, value: Scalar): boolean {
  switch (cell.kind) {
    case 'values':
      return cell.values.includes(value);
    case 'range':
      return (
        typeof value === 'number' &&
        (cell.openLow ? value > cell.low : value >= cell.low) &&
        (cell.openHigh ? value < cell.high : value <= cell.high)
      );
    default:
      return true;
  }
}

/** Whether there is certainly a value that both cells match. */
export function overlap(a: Cell, b: Cell): boolean {
  const common = both(a, b);
  return common.kind !== 'unknown' && !(common.kind === 'values' && common.values.length === 0);
}

/** Whether one cell certainly matches everything that another matches. */
export function covers(wide: Cell, narrow: Cell): boolean {
  if (wide.kind === 'any') return true;
  if (wide.kind === 'unknown' || narrow.kind === 'unknown' || narrow.kind === 'any') return false;
  if (narrow.kind === 'values') return narrow.values.every((value) => admits(wide, value));
  if (wide.kind === 'values') return false;
  const reachesLow = wide.low < narrow.low || (wide.low === narrow.low && (!wide.openLow || narrow.openLow));
  const reachesHigh =
    wide.high > narrow.high || (wide.high === narrow.high && (!wide.openHigh || narrow.openHigh));
  return reachesLow && reachesHigh;
}

/** Representative values of an input: each represents all values that the cells of its column treat alike. */
export function samplesOf(cells: readonly Cell[]): Scalar[] {
  const values = cells.flatMap((cell) => (cell.kind === 'values' ? cell.values : []));
  const ends = cells.flatMap((cell) => (cell.kind === 'range' ? [cell.low, cell.high] : []));
  const numbers = [...new Set([...ends, ...values.filter((value) => typeof value === 'number')])]
    .filter(Number.isFinite)
    .sort((a, b) => a - b);
  if (numbers.length > 0) return between(numbers);
  const texts = values.filter((value) => typeof value === 'string');
  if (texts.length > 0) return [...new Set(texts), '\0something else'];
  return values.length > 0 ? [true, false] : ['\0anything'];
}

function between(numbers: readonly number[]): number[] {
  const [first, last] = [numbers[0] as number, numbers.at(-1) as number];
  const middles = numbers.slice(1).map((number, n) => (number + (numbers[n] as number)) / 2);
  return [first - 1, ...numbers, ...middles, last + 1];
}
