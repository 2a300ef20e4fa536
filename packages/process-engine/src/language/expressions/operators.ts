import { type Compile, noOverload, type Part, part, type Scope, typeError } from './compiler.ts';
import type { Node } from './parse-expression.ts';
import { CostExceeded, type Run } from './run.ts';
import { areComparable, bool, dyn, eitherOf, type Scalar, type Type } from './types.ts';
import {
  areEqual,
  checkedInt,
  compare,
  ExpressionFault,
  Instant,
  isMap,
  isNumeric,
  Span,
  textSteps,
  type Value,
} from './values.ts';

/** The operators of CEL: their result types and their evaluation. */

type Pair = readonly [Node, Node];

/**
 * The result types of arithmetic, by operator and kinds. Kinds of numbers may be mixed only if a value comes from JSON,
 * which doesn't determine the kind.
 */
const arithmetic: Readonly<Record<string, Readonly<Record<string, Scalar>>>> = {
  '+': {
    'int int': 'int',
    'double double': 'double',
    'string string': 'string',
    'timestamp duration': 'timestamp',
    'duration timestamp': 'timestamp',
    'duration duration': 'duration',
  },
  '-': {
    'int int': 'int',
    'double double': 'double',
    'timestamp timestamp': 'duration',
    'timestamp duration': 'timestamp',
    'duration duration': 'duration',
  },
  '*': { 'int int': 'int', 'double double': 'double' },
  '/': { 'int int': 'int', 'double double': 'double' },
  '%': { 'int int': 'int' },
};

export function compileArithmetic(op: string, [a, b]: Pair, scope: Scope, compile: Compile): Part {
  const [left, right] = [compile(a, scope), compile(b, scope)];
  const type = typeOfArithmetic(op, left.type, right.type);
  return part(type, (run) => compute(op, left.run(run), right.run(run), run));
}

function typeOfArithmetic(op: string, left: Type, right: Type): Type {
  if (left.kind === 'dyn' || right.kind === 'dyn') return dyn;
  if (op === '+' && left.kind === 'list' && right.kind === 'list') return eitherOf(left, right);
  const kind = arithmetic[op]?.[`${left.kind} ${right.kind}`];
  return kind === undefined ? noOverload(op, left, right) : { kind };
}

function compute(op: string, left: Value, right: Value, run: Run): Value {
  if (isNumeric(left) && isNumeric(right)) return computeNumbers(op, left, right);
  if (op === '+' && typeof left === 'string' && typeof right === 'string') {
    run.spend(textSteps(left, right));
    return left + right;
  }
  if (op === '+' && Array.isArray(left) && Array.isArray(right)) {
    run.spend(left.length + right.length);
    return [...left, ...right];
  }
  return computeTimes(op, left, right);
}

function computeNumbers(op: string, left: number | bigint, right: number | bigint): Value {
  if (typeof left === 'bigint' && typeof right === 'bigint') return computeInts(op, left, right);
  const [a, b] = [Number(left), Number(right)];
  switch (op) {
    case '+':
      return a + b;
    case '-':
      return a - b;
    case '*':
      return a * b;
    case '/':
      return a / b;
    default:
      // Integers from JSON are doubles here, but % must work for them too.
      if (!Number.isSafeInteger(a) || !Number.isSafeInteger(b)) throw new ExpressionFault('no_such_overload');
      return computeInts(op, BigInt(a), BigInt(b));
  }
}

function computeInts(op: string, left: bigint, right: bigint): bigint {
  if ((op === '/' || op === '%') && right === 0n) throw new ExpressionFault('division_by_zero');
  const compute: Readonly<Record<string, () => bigint>> = {
    '+': () => left + right,
    '-': () => left - right,
    '*': () => left * right,
    '/': () => left / right,
    '%': () => left % right,
  };
  return checkedInt((compute[op] as () => bigint)());
}

function computeTimes(op: string, left: Value, right: Value): Value {
  if (left instanceof Instant && right instanceof Span)
    return new Instant(op === '+' ? left.ms + right.ms : left.ms - right.ms);
  if (left instanceof Span && right instanceof Span)
    return new Span(op === '+' ? left.ms + right.ms : left.ms - right.ms);
  if (op === '+' && left instanceof Span && right instanceof Instant) return new Instant(left.ms + right.ms);
  if (op === '-' && left instanceof Instant && right instanceof Instant) return new Span(left.ms - right.ms);
  throw new ExpressionFault('no_such_overload');
}

export function compileEquality(op: string, [a, b]: Pair, scope: Scope, compile: Compile): Part {
  const [left, right] = [compile(a, scope), compile(b, scope)];
  if (!areComparable(left.type, right.type)) noOverload(op, left.type, right.type);
  return part(bool, (run) => areEqual(left.run(run), right.run(run), run) === (op === '=='));
}

const ordered: readonly string[] = ['bool', 'int', 'double', 'string', 'timestamp', 'duration'];

const holds: Readonly<Record<string, (order: number) => boolean>> = {
  '<': (order) => order < 0,
  '<=': (order) => order <= 0,
  '>': (order) => order > 0,
  '>=': (order) => order >= 0,
};

export function compileOrder(op: string, [a, b]: Pair, scope: Scope, compile: Compile): Part {
  const [left, right] = [compile(a, scope), compile(b, scope)];
  const types = [left.type, right.type].filter(({ kind }) => kind !== 'dyn');
  const haveOrder = types.every(({ kind }) => ordered.includes(kind));
  if (!haveOrder || !areComparable(left.type, right.type)) noOverload(op, left.type, right.type);
  const isSo = holds[op] as (order: number) => boolean;
  return part(bool, (run) => {
    const [first, second] = [left.run(run), right.run(run)];
    // NaN is neither less than nor greater than any number.
    if (Number.isNaN(first) || Number.isNaN(second)) return false;
    return isSo(compare(first, second, run));
  });
}

export function compileMembership([a, b]: Pair, scope: Scope, compile: Compile): Part {
  const [item, list] = [compile(a, scope), compile(b, scope)];
  const { kind } = list.type;
  if (!['dyn', 'list', 'map', 'object'].includes(kind)) noOverload('in', item.type, list.type);
  if (list.type.kind === 'list' && !areComparable(item.type, list.type.of))
    noOverload('in', item.type, list.type);
  return part(bool, (run) => {
    const [wanted, given] = [item.run(run), list.run(run)];
    if (Array.isArray(given)) return given.some((one) => areEqual(wanted, one as Value, run));
    if (!isMap(given)) throw new ExpressionFault('no_such_overload');
    return typeof wanted === 'string' && Object.hasOwn(given, wanted);
  });
}

/**
 * The result of one operand may be enough, as in CEL, even if the other one fails: `false && x` and `x && false` are
 * false for any x.
 */
export function compileLogic(op: '&&' | '||', [a, b]: Pair, scope: Scope, compile: Compile): Part {
  const [left, right] = [compile(a, scope), compile(b, scope)];
  for (const { type } of [left, right]) requireBool(type, op);
  const decisive = op === '||';
  return part(bool, (run) => {
    const first = attempt(left, run);
    if (first === decisive) return decisive;
    const second = booleanOf(right.run(run));
    if (second === decisive || typeof first === 'boolean') return second;
    throw first;
  });
}

function attempt(one: Part, run: Run): boolean | Error {
  try {
    return booleanOf(one.run(run));
  } catch (error) {
    if (error instanceof CostExceeded || !(error instanceof ExpressionFault)) throw error;
    return error;
  }
}

/** @throws ExpressionFault `no_such_overload` */
export function booleanOf(value: Value): boolean {
  if (typeof value !== 'boolean') throw new ExpressionFault('no_such_overload');
  return value;
}

export function requireBool(type: Type, what: string): void {
  if (type.kind !== 'bool' && type.kind !== 'dyn') typeError(`${what} requires bool, not ${type.kind}`);
}

export function compileTernary(
  [condition, then, otherwise]: readonly [Node, Node, Node],
  scope: Scope,
  compile: Compile,
): Part {
  const question = compile(condition, scope);
  requireBool(question.type, '?:');
  const [yes, no] = [compile(then, scope), compile(otherwise, scope)];
  return part(eitherOf(yes.type, no.type), (run) => (booleanOf(question.run(run)) ? yes : no).run(run));
}

export function compileSign(op: '!_' | '-_', operand: Node, scope: Scope, compile: Compile): Part {
  const given = compile(operand, scope);
  if (op === '!_') {
    requireBool(given.type, '!');
    return part(bool, (run) => !booleanOf(given.run(run)));
  }
  if (!['int', 'double', 'duration', 'dyn'].includes(given.type.kind)) noOverload('-', given.type);
  return part(given.type, (run) => negative(given.run(run)));
}

function negative(value: Value): Value {
  if (typeof value === 'bigint') return checkedInt(-value);
  if (typeof value === 'number') return -value;
  if (value instanceof Span) return new Span(-value.ms);
  throw new ExpressionFault('no_such_overload');
}
