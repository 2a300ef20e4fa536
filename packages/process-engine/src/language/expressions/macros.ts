import { asDeclared, type Compile, type Part, part, type Scope, typeError } from './compiler.ts';
import { booleanOf, requireBool } from './operators.ts';
import type { Node } from './parse-expression.ts';
import { CostExceeded, type Run } from './run.ts';
import { bool, dyn, listOf, optionalOf, string, type Type } from './types.ts';
import { ExpressionFault, isMap, Optional, type Value } from './values.ts';

/** The macros of CEL, which bind a name for the expressions inside them. */

type Macro = (receiver: Part, args: readonly Node[], scope: Scope, compile: Compile) => Part;

/** Macros for lists, by name and number of arguments. */
const iterating: Readonly<Record<string, Macro>> = {
  'all 2': (range, args, scope, compile) => quantifier(range, args, scope, compile, false),
  'exists 2': (range, args, scope, compile) => quantifier(range, args, scope, compile, true),
  'exists_one 2': exactlyOne,
  'existsOne 2': exactlyOne,
  'map 2': (range, [name, transform], scope, compile) =>
    mapped(range, [name, undefined, transform], scope, compile),
  'map 3': (range, [name, filter, transform], scope, compile) =>
    mapped(range, [name, filter, transform], scope, compile),
  'filter 2': filtered,
};

/** Macros for optional values. */
const optional: Readonly<Record<string, Macro>> = {
  'optMap 2': (given, args, scope, compile) =>
    whenThere(given, args, scope, compile, (value) => new Optional(value)),
  'optFlatMap 2': (given, args, scope, compile) => whenThere(given, args, scope, compile, flattened),
};

/** @returns undefined for a call that is not a macro */
export function macroOf(name: string, count: number): Macro | undefined {
  return iterating[`${name} ${count}`] ?? optional[`${name} ${count}`];
}

/** `cel.bind(name, value, result)` */
export function compileBind(args: readonly Node[], scope: Scope, compile: Compile): Part {
  const [name, value, result] = args as [Node, Node, Node];
  const given = compile(value, scope);
  const { inner, slot } = bound(name, given.type, scope);
  const body = compile(result, inner);
  return part(body.type, (run) => {
    run.locals[slot] = given.run(run);
    return body.run(run);
  });
}

/** The scope inside a macro, and the slot of the value that the macro binds. */
function bound(name: Node | undefined, type: Type, scope: Scope): { inner: Scope; slot: number } {
  if (name?.op !== 'id') return typeError('a macro binds a plain name');
  const slot = scope.slots;
  const locals = new Map(scope.locals).set(name.args, { slot, type });
  return { inner: { ...scope, locals, slots: slot + 1 }, slot };
}

/** The type of a list's items, or of the names in a map. */
function itemTypeOf({ type }: Part): Type {
  if (type.kind === 'list') return type.of;
  if (type.kind === 'map' || type.kind === 'object') return string;
  return type.kind === 'dyn' ? dyn : typeError(`a macro requires a list or a map, not ${type.kind}`);
}

/** @throws ExpressionFault `no_such_overload` */
function itemsOf(value: Value, run: Run): readonly Value[] {
  if (Array.isArray(value)) return value as readonly Value[];
  if (!isMap(value)) throw new ExpressionFault('no_such_overload');
  const names = Object.keys(value);
  run.spend(names.length);
  return names;
}

interface Loop {
  readonly items: (run: Run) => readonly Value[];
  readonly inner: Scope;
  /** Binds the item to the macro's name. */
  readonly take: (run: Run, item: Value) => Value;
}

function loopOver(range: Part, name: Node | undefined, scope: Scope): Loop {
  const type = itemTypeOf(range);
  const { inner, slot } = bound(name, type, scope);
  return {
    items: (run) => itemsOf(range.run(run), run),
    inner,
    take: (run, item) => {
      run.spend(1);
      const value = asDeclared(item, type);
      run.locals[slot] = value;
      return value;
    },
  };
}

/** Evaluates `all` or `exists`: an error for one item doesn't matter if another item determines the result. */
function quantifier(
  range: Part,
  [name, predicate]: readonly Node[],
  scope: Scope,
  compile: Compile,
  decisive: boolean,
): Part {
  const { items, inner, take } = loopOver(range, name, scope);
  const test = predicateOf(predicate, inner, compile);
  return part(bool, (run) => {
    let failure: ExpressionFault | undefined;
    for (const item of items(run)) {
      take(run, item);
      try {
        if (booleanOf(test.run(run)) === decisive) return decisive;
      } catch (error) {
        if (error instanceof CostExceeded || !(error instanceof ExpressionFault)) throw error;
        failure ??= error;
      }
    }
    if (failure !== undefined) throw failure;
    return !decisive;
  });
}

function predicateOf(predicate: Node | undefined, inner: Scope, compile: Compile): Part {
  const test = compile(predicate as Node, inner);
  requireBool(test.type, 'a predicate');
  return test;
}

function exactlyOne(range: Part, [name, predicate]: readonly Node[], scope: Scope, compile: Compile): Part {
  const { items, inner, take } = loopOver(range, name, scope);
  const test = predicateOf(predicate, inner, compile);
  return part(bool, (run) => {
    let count = 0;
    for (const item of items(run)) {
      take(run, item);
      count += Number(booleanOf(test.run(run)));
    }
    return count === 1;
  });
}

function filtered(range: Part, [name, predicate]: readonly Node[], scope: Scope, compile: Compile): Part {
  const { items, inner, take } = loopOver(range, name, scope);
  const test = predicateOf(predicate, inner, compile);
  return part(listOf(itemTypeOf(range)), (run) =>
    items(run).filter((item) => {
      take(run, item);
      return booleanOf(test.run(run));
    }),
  );
}

function mapped(
  range: Part,
  [name, filter, transform]: readonly (Node | undefined)[],
  scope: Scope,
  compile: Compile,
): Part {
  const { items, inner, take } = loopOver(range, name, scope);
  const test = filter === undefined ? undefined : predicateOf(filter, inner, compile);
  const result = compile(transform as Node, inner);
  return part(listOf(result.type), (run) => {
    const made: Value[] = [];
    for (const item of items(run)) {
      take(run, item);
      if (test === undefined || booleanOf(test.run(run))) made.push(result.run(run));
    }
    return made;
  });
}

function whenThere(
  given: Part,
  [name, transform]: readonly Node[],
  scope: Scope,
  compile: Compile,
  wrap: (value: Value) => Value,
): Part {
  const { type } = given;
  if (type.kind !== 'optional' && type.kind !== 'dyn')
    typeError(`optMap requires an optional, not ${type.kind}`);
  const { inner, slot } = bound(name, type.kind === 'optional' ? type.of : dyn, scope);
  const result = compile(transform as Node, inner);
  const of = result.type.kind === 'optional' ? result.type.of : result.type;
  return part(optionalOf(of), (run) => {
    const value = optionalValue(given.run(run));
    if (value === undefined) return new Optional(undefined);
    run.locals[slot] = value;
    return wrap(result.run(run));
  });
}

/** @throws ExpressionFault `no_such_overload` for a value that is not optional */
export function optionalValue(value: Value): Value | undefined {
  if (!(value instanceof Optional)) throw new ExpressionFault('no_such_overload');
  return value.value;
}

function flattened(value: Value): Value {
  optionalValue(value);
  return value;
}

/** `optional.of(x)`, `optional.ofNonZeroValue(x)` and `optional.none()` */
export function compileOptional(name: string, args: readonly Node[], scope: Scope, compile: Compile): Part {
  if (name === 'none' && args.length === 0) return part(optionalOf(dyn), () => new Optional(undefined));
  const [given] = args;
  if (given === undefined || args.length !== 1 || !['of', 'ofNonZeroValue'].includes(name))
    return typeError(`optional has no function ${name} with ${args.length} arguments`);
  const value = compile(given, scope);
  return part(optionalOf(value.type), (run) => {
    const there = value.run(run);
    return new Optional(name === 'of' || !isZero(there) ? there : undefined);
  });
}

function isZero(value: Value): boolean {
  if (Array.isArray(value)) return value.length === 0;
  if (isMap(value)) return Object.keys(value).length === 0;
  return value === null || value === false || value === '' || Number(value) === 0;
}
