import type { Node } from './parsing.ts';
import { ExpressionProblem } from './parsing.ts';
import type { Run } from './run.ts';
import { instantOf, spanOf } from './time-functions.ts';
import { dyn, nameOf, type Type } from './types.ts';
import { ExpressionFault, isMap, isNumeric, type Value } from './values.ts';

/** What is shared by those who make programs of the nodes of an expression. */

/** A part of a program: what it gives, and how. One step is charged for each time that it is done. */
export interface Part {
  readonly type: Type;
  readonly run: (run: Run) => Value;
  /** The value of a literal. */
  readonly literal?: Value;
}

/** The names that an expression may read, and what was found that it reads. */
export interface Scope {
  readonly variables: ReadonlyMap<string, Type>;
  readonly found: Found;
  /** Bound by macros, with the place of their value. */
  readonly locals: ReadonlyMap<string, { readonly slot: number; readonly type: Type }>;
  /** Places that are taken. */
  readonly slots: number;
}

export interface Found {
  /** Members of `data` that are read; `*` for all of it. */
  readonly reads: Set<string>;
  /** Variables that are read. */
  readonly variables: Set<string>;
  /** Keys of calendars; null for that of the process. */
  readonly calendars: Set<string | null>;
  /** How large its literal patterns may still be. */
  readonly patterns: { sizeLeft: number };
}

export type Compile = (node: Node, scope: Scope) => Part;

/** @throws ExpressionProblem `expression_type_error` */
export function typeError(message: string): never {
  throw new ExpressionProblem('expression_type_error', message.slice(0, 200).toWellFormed());
}

export const noOverload = (what: string, ...types: readonly Type[]): never =>
  typeError(`${what} is not defined for ${types.map(nameOf).join(' and ')}`);

/** A part that is charged. */
export function part(type: Type, run: (run: Run) => Value): Part {
  return {
    type,
    run: (at) => {
      at.spend(1);
      return run(at);
    },
  };
}

/** A value of JSON as one of its declared type: numbers that are integers, texts that are instants and spans. */
export function asDeclared(value: Value, { kind }: Type): Value {
  if (kind === 'int' && typeof value === 'number' && Number.isSafeInteger(value)) return BigInt(value);
  if (kind === 'double' && typeof value === 'bigint') return Number(value);
  if (kind === 'timestamp' && typeof value === 'string') return instantOf(value);
  if (kind === 'duration' && typeof value === 'string') return spanOf(value);
  return value;
}

/** A part that reads from what it was given: what is read is of its declared type. */
export function reading(type: Type, run: (run: Run) => Value): Part {
  const isDeclared = ['int', 'double', 'timestamp', 'duration'].includes(type.kind);
  return part(type, isDeclared ? (at) => asDeclared(run(at), type) : run);
}

/** The member of an object or a map; undefined for none. @throws ExpressionFault for what has no members */
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

/** What stands at a member of a type. @throws ExpressionProblem for an undeclared one */
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
      return type.fields.get(name) ?? (type.isOpen ? dyn : typeError(`${what} declares no ${name}`));
    default:
      return noOverload('a member', type);
  }
}

function keyTypeOf(key: Part | string): Type {
  return typeof key === 'string' ? { kind: 'string' } : key.type;
}
