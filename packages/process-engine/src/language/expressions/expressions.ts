import type { Json } from '@baton/values/wire';
import {
  type Compile,
  type Found,
  memberOf,
  memberType,
  noOverload,
  type Part,
  part,
  readRoot,
  type Scope,
  typeError,
} from './compiler.ts';
import { listFunctions } from './list-functions.ts';
import { compileBind, compileOptional, macroOf, optionalValue } from './macros.ts';
import {
  compileArithmetic,
  compileEquality,
  compileLogic,
  compileMembership,
  compileOrder,
  compileSign,
  compileTernary,
} from './operators.ts';
import { mayTake, type Overload, overloadsByName, runFirst } from './overloads.ts';
import { type Node, parseExpression } from './parse-expression.ts';
import { jsonOf } from './results.ts';
import { type CalendarLookup, CostExceeded, Run } from './run.ts';
import { requirePattern, textFunctions } from './text-functions.ts';
import { calendarFunctions, conversions, runWithCalendar, timeFunctions } from './time-functions.ts';
import { bool, dyn, eitherOf, listOf, mapOf, nameOf, optionalOf, type Type } from './types.ts';
import { ExpressionFault, type FaultReason, kindOfValue, Optional, type Value } from './values.ts';

/**
 * Expressions of processes: CEL, profile cp/1 (docs/reference/processes.md#expressions). The library parses the text
 * (decision 0220); types, steps and values are Baton's own, so that evaluation counts its cost. Everything here is pure
 * and synchronous: the default limit of 10,000 steps is reached within 50 ms.
 */

/** The variables of an expression. */
export interface ExpressionEnvironment {
  readonly variables: ReadonlyMap<string, Type>;
  /**
   * The size that is left for all literal patterns of `matches` together, if it is limited: each pattern reduces it.
   */
  readonly patterns?: { sizeLeft: number };
}

/** A checked expression. */
export interface Program {
  readonly text: string;
  readonly type: Type;
  /** Members of `data` that the expression reads; `*` if it reads data as a whole. */
  readonly reads: ReadonlySet<string>;
  /** The names of variables that it reads. */
  readonly variables: ReadonlySet<string>;
  /** Keys of calendars that it refers to; null for the calendar of the process. */
  readonly calendars: ReadonlySet<string | null>;
  readonly run: (run: Run) => Value;
}

/**
 * Parses and checks an expression.
 * @throws ExpressionProblem `expression_syntax_error`, `expression_type_error`, `expression_too_complex`
 */
export function compileExpression(
  text: string,
  { variables, patterns = { sizeLeft: Number.POSITIVE_INFINITY } }: ExpressionEnvironment,
): Program {
  const found: Found = { reads: new Set(), variables: new Set(), calendars: new Set(), patterns };
  const node = parseExpression(text);
  const { type, run } = compile(node, { variables, found, locals: new Map(), slots: 0 });
  return { text, type, run, ...found };
}

export interface EvaluationBounds {
  /** `CP_CEL_COST_LIMIT`. */
  readonly costLimit: number;
  readonly calendarOf: CalendarLookup;
  /** Called with the number of steps, even if the evaluation failed. */
  readonly spent?: (steps: number) => void;
}

export type Evaluated =
  | { readonly value: Json }
  | { readonly fault: { readonly code: 'expression_error'; readonly reason: FaultReason } }
  | { readonly fault: { readonly code: 'expression_cost_exceeded'; readonly reason: null } };

/**
 * Evaluates a program.
 * @param roots by name, as JSON; instants as strings. Missing values are null.
 * @returns the value as JSON, instants and durations as ISO 8601 strings, or the reason why it has no value
 * @public for the engine of processes
 */
export function evaluate(
  program: Program,
  roots: Readonly<Record<string, Json | undefined>>,
  { costLimit, calendarOf, spent }: EvaluationBounds,
): Evaluated {
  const run = new Run(roots, costLimit, calendarOf);
  try {
    return { value: jsonOf(program.run(run), run) };
  } catch (error) {
    if (error instanceof ExpressionFault)
      return { fault: { code: 'expression_error', reason: error.reason } };
    if (error instanceof CostExceeded) return { fault: { code: 'expression_cost_exceeded', reason: null } };
    throw error;
  } finally {
    spent?.(costLimit - run.stepsLeft);
  }
}

const functionsOf = overloadsByName([...textFunctions, ...listFunctions, ...conversions, ...timeFunctions]);

const compile: Compile = (node, scope) => {
  switch (node.op) {
    case 'value':
      return literal(node.args);
    case 'id':
      return identifier(node.args, scope);
    case '.':
    case '.?':
      return member(node.op === '.?', node.args[0], node.args[1], scope);
    case '[]':
    case '[?]':
      return member(node.op === '[?]', node.args[0], compile(node.args[1], scope), scope);
    case 'call':
      return called(node.args[0], node.args[1], scope);
    case 'rcall':
      return calledOn(node.args, scope);
    case 'list':
      return list(node.args.map((item) => compile(item, scope)));
    case 'map':
      return map(node.args, scope);
    case '?:':
      return compileTernary(node.args, scope, compile);
    case '&&':
    case '||':
      return compileLogic(node.op, node.args, scope, compile);
    case '!_':
    case '-_':
      return compileSign(node.op, node.args, scope, compile);
    case '==':
    case '!=':
      return compileEquality(node.op, node.args, scope, compile);
    case 'in':
      return compileMembership(node.args, scope, compile);
    case '<':
    case '<=':
    case '>':
    case '>=':
      return compileOrder(node.op, node.args, scope, compile);
    default:
      return compileArithmetic(node.op, node.args, scope, compile);
  }
};

function literal(value: unknown): Part {
  if (typeof value === 'object' && value !== null)
    return typeError('the profile cp/1 has neither unsigned integers nor bytes');
  const known = value as Value;
  const kind = kindOfValue(known);
  if (kind === 'int' && BigInt.asIntN(64, known as bigint) !== known && known !== 2n ** 63n)
    return typeError('an integer must fit into 64 bits');
  return { ...part({ kind: kind as 'int' }, () => known), literal: known };
}

function identifier(name: string, scope: Scope): Part {
  const local = scope.locals.get(name);
  if (local !== undefined) return part(local.type, (run) => run.locals[local.slot] as Value);
  const type = scope.variables.get(name);
  if (type === undefined) return typeError(`no variable is named ${name}`);
  scope.found.variables.add(name);
  if (name === 'data') scope.found.reads.add('*');
  return readRoot(type, (run) => run.roots[name] ?? null);
}

/**
 * The object of a member access. If it is `data`, only that member is recorded as read.
 */
function owner(node: Node, key: Part | string, scope: Scope): Part {
  const isData = node.op === 'id' && node.args === 'data' && !scope.locals.has('data');
  const name = typeof key === 'string' ? key : key.literal;
  if (!isData || typeof name !== 'string' || scope.found.reads.has('*')) return compile(node, scope);
  const given = compile(node, scope);
  scope.found.reads.delete('*');
  scope.found.reads.add(name);
  return given;
}

/** `a.b`, `a[b]`, and the same for an optional `b`. */
function member(isOptional: boolean, node: Node, key: Part | string, scope: Scope): Part {
  const given = owner(node, key, scope);
  const within = given.type.kind === 'optional' ? given.type.of : given.type;
  const of = memberType(within, key, sourceText(node));
  const nameAt = typeof key === 'string' ? () => key : key.run;
  if (given.type.kind === 'optional' || isOptional) {
    return readRoot(optionalOf(of), (run) => {
      const value = given.run(run);
      const inside = value instanceof Optional ? value.value : value;
      const name = nameAt(run);
      return new Optional(inside === undefined ? undefined : there(memberOf(inside, name)));
    });
  }
  const isDeclared = within.kind === 'object';
  return readRoot(of, (run) => {
    const value = given.run(run);
    // A dyn value may also turn out to be an optional at run time; this is not supported.
    if (value instanceof Optional) throw new ExpressionFault('no_such_overload');
    const found = memberOf(value, nameAt(run));
    if (found !== undefined) return found;
    if (isDeclared) return null;
    throw new ExpressionFault(Array.isArray(value) ? 'index_out_of_range' : 'no_such_key');
  });
}

const there = (value: Value | undefined) => (value === null ? undefined : value);

function sourceText(node: Node): string {
  return node.input.slice(node.range.start, node.range.end).slice(0, 60);
}

function called(name: string, args: readonly Node[], scope: Scope): Part {
  if (name === 'has' && args.length === 1) return has(args[0] as Node, scope);
  return fromOverloads(
    scope,
    name,
    functionsOf('function', name, args.length),
    args.map((one) => compile(one, scope)),
  );
}

/** `has(a.b)` */
function has(node: Node, scope: Scope): Part {
  if (node.op !== '.' && node.op !== '.?') return typeError('has() requires a member, as in has(data.name)');
  const [object, name] = node.args;
  const given = owner(object, name, scope);
  const within = given.type.kind === 'optional' ? given.type.of : given.type;
  memberType(within, name, sourceText(object));
  return part(bool, (run) => {
    const value = given.run(run);
    const inside = value instanceof Optional ? optionalValue(value) : value;
    return inside !== undefined && memberOf(inside, name) !== undefined;
  });
}

function calledOn([name, receiver, args]: readonly [string, Node, Node[]], scope: Scope): Part {
  const namespace = receiver.op === 'id' && !scope.locals.has(receiver.args) ? receiver.args : undefined;
  if (namespace === 'cel' && name === 'bind' && args.length === 3) return compileBind(args, scope, compile);
  if (namespace === 'optional') return compileOptional(name, args, scope, compile);
  if (namespace === 'cal') return calendarCall(name, args, scope);
  const macro = macroOf(name, args.length);
  if (macro !== undefined) return macro(compile(receiver, scope), args, scope, compile);
  const parts = [receiver, ...args].map((one) => compile(one, scope));
  return fromOverloads(scope, name, functionsOf('member', name, parts.length), parts);
}

function fromOverloads(scope: Scope, name: string, all: readonly Overload[], args: readonly Part[]): Part {
  if (all.length === 0) return typeError(`no function ${name} has ${args.length} arguments`);
  const types = args.map(({ type }) => type);
  const fitting = all.filter(({ parameters }) =>
    parameters.every((parameter, n) => mayTake(types[n] as Type, parameter)),
  );
  if (fitting.length === 0) return noOverload(name, ...types);
  const pattern = name === 'matches' ? args.at(-1)?.literal : undefined;
  if (typeof pattern === 'string') requirePattern(pattern, scope.found.patterns);
  const type = fitting.map(({ result }) => result(types)).reduce(eitherOf);
  return part(type, (run) => {
    const values = args.map((one) => one.run(run));
    return runFirst(fitting, values, run);
  });
}

/** `cal.addWorkdays(from, 5)` with the calendar of the process, `cal.addWorkdays(from, 5, 'berlin')` with another. */
function calendarCall(name: string, args: readonly Node[], scope: Scope): Part {
  const fn = Object.hasOwn(calendarFunctions, name) ? calendarFunctions[name] : undefined;
  if (fn === undefined) return typeError(`cal has no function ${name}`);
  const { parameters, result } = fn;
  const [given, named] = [args.slice(0, parameters.length), args.slice(parameters.length)];
  if (given.length !== parameters.length || named.length > 1)
    return typeError(`cal.${name} requires ${parameters.join(', ')} and optionally the key of a calendar`);
  const parts = given.map((one) => compile(one, scope));
  for (const [n, { type }] of parts.entries())
    if (type.kind !== 'dyn' && type.kind !== parameters[n])
      noOverload(`cal.${name}`, ...parts.map((one) => one.type));
  const key = named[0] === undefined ? null : calendarKey(compile(named[0], scope));
  scope.found.calendars.add(key);
  return part(result, (run) => {
    const values = parts.map((one) => one.run(run));
    if (!values.every((value, n) => fitsCalendar(value, parameters[n] as string)))
      throw new ExpressionFault('no_such_overload');
    return runWithCalendar(fn.run, key, run, values);
  });
}

/** A key must be literal, so that the calendars of a process are known in advance. */
function calendarKey({ literal: key }: Part): string {
  return typeof key === 'string' ? key : typeError('the key of a calendar must be a literal text');
}

function fitsCalendar(value: Value, parameter: string): boolean {
  return kindOfValue(value) === parameter || (parameter === 'int' && Number.isSafeInteger(value));
}

function list(items: readonly Part[]): Part {
  const type = items.map((item) => item.type).reduce(eitherOf, items[0]?.type ?? dyn);
  return part(listOf(type), (run) => items.map((item) => item.run(run)));
}

function map(entries: readonly (readonly [Node, Node])[], scope: Scope): Part {
  const parts = entries.map(([key, value]) => [compile(key, scope), compile(value, scope)] as const);
  for (const [{ type }] of parts)
    if (type.kind !== 'string' && type.kind !== 'dyn')
      typeError(`the keys of a map must be texts, not ${nameOf(type)}`);
  const type = parts.map(([, value]) => value.type).reduce(eitherOf, parts[0]?.[1].type ?? dyn);
  return part(mapOf(type), (run) => {
    const made: Record<string, Value> = Object.create(null) as Record<string, Value>;
    for (const [key, value] of parts) {
      const name = key.run(run);
      if (typeof name !== 'string') throw new ExpressionFault('no_such_overload');
      made[name] = value.run(run);
    }
    return made;
  });
}
