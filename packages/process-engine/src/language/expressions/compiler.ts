import type { Node } from './parse-expression.ts';
import { ExpressionProblem } from './parse-expression.ts';
import type { Run } from './run.ts';
import { instantOf, spanOf } from './time-functions.ts';
import { dyn, nameOf, type Type } from './types.ts';
import { ExpressionFault, isMap, isNumeric, type Value } from './values.ts';

/** The parts that the compilers of an expression's nodes share. */

/** A node of a program: its type, and its evaluation. Each evaluation costs one step. */
export interface Part {
  readonly type: Type;
  readonly run: (run: Run) => Value;
  /** The value of a literal. */
  readonly literal?: Value;
}

/** The names that an expression may read, and those that it does read. */
export interface Scope {
  readonly variables: ReadonlyMap<string, Type>;
  readonly found: Found;
  /** The names that macros bind, each with the slot of its value. */
  readonly locals: ReadonlyMap<string, { readonly slot: number; readonly type: Type }>;
  /** The number of used slots. */
  readonly slots: number;
}

export interface Found {
  /** Members of `data` that are read; `*` for all of it. */
  readonly reads: Set<string>;
  /** Variables that are read. */
  readonly variables: Set<string>;
  /** Keys of calendars; null for the calendar of the process. */
  readonly calendars: Set<string | null>;
  /** The size that is left for the expression's literal patterns. */
  readonly patterns: { sizeLeft: number };
}

export type Compile = (node: Node, scope: Scope) => Part;

/** @throws ExpressionProblem `expression_type_error` */
export function typeError(message: string): never {
  throw new ExpressionProblem('expression_type_error', message.slice(0, 200).toWellFormed());
}

export const noOverload = (what: string, ...types: readonly Type[]): never =>
  typeError(`${what} is not defined for ${types.map(nameOf).join(' and ')}`);

/** A node whose evaluation costs a step. */
export function part(type: Type, run: (run: Run) => Value): Part {
  return {
    type,
    run: (at) => {
      at.spend(1);
      return run(at);
    },
  };
}

/** A JSON value converted to its declared type: numbers to integers, strings to instants and durations. */
export function asDeclared(value: Value, { kind }: Type): Value {
  if (kind === 'int' && typeof value === 'number' && Number.isSafeInteger(value)) return BigInt(value);
  if (kind === 'double' && typeof value === 'bigint') return Number(value);
  if (kind === 'timestamp' && typeof value === 'string') return instantOf(value);
  if (kind === 'duration' && typeof value === 'string') return spanOf(value);
  return value;
}

/** A node that reads a root: the value is converted to its declared type. */
export function readRoot(type: Type, run: (run: Run) => Value): Part {
  const isDeclared = ['int', 'double', 'timestamp', 'duration'].includes(type.kind);
  return part(type, isDeclared ? (at) => asDeclared(run(at), type) : run);
}

/**
 * The member of an object or a map; undefined if it has no such member. @throws ExpressionFault if the value has no
 * members
 */
export function memberOf(value: Value, name: Value): Value | undefined {
  if (isMap(value)) {
    const key = typeof name === 'string' ? name : undefined;
    return key !== undefined && Object.hasOwn(value, key) ? value[key] : undefined;
  }
  if (Array.isArray(value)) {
    if (!isNumeric(name)) throw new ExpressionFault('no_such_overload');
    return value[Number(name)] as Value | undefined;
  }
  if (value === null) return undefined;
  throw new ExpressionFault('no_such_overload');
}

/** The type of a member. @throws ExpressionProblem if it is not declared */
export function memberType(type: Type, key: Part | string, what: string): Type {
  const name = typeof key === 'string' ? key : key.literal;
  const keyKind = typeof key === 'string' ? 'string' : key.type.kind;
  switch (type.kind) {
    case 'dyn':
      return dyn;
    case 'list':
      return keyKind === 'int' || keyKind === 'dyn' ? type.of : noOverload('an index', type, keyTypeOf(key));
    case 'map':
      return keyKind === 'string' || keyKind === 'dyn'
        ? type.of
        : noOverload('a member', type, keyTypeOf(key));
    case 'object':
      if (keyKind !== 'string' && keyKind !== 'dyn') return noOverload('a member', type, keyTypeOf(key));
      if (typeof name !== 'string') return dyn;
      return type.fields.get(name) ?? (type.isOpen ? dyn : typeError(`${what} does not declare ${name}`));
    default:
      return noOverload('a member', type);
  }
}

function keyTypeOf(key: Part | string): Type {
  return typeof key === 'string' ? { kind: 'string' } : key.type;
}
