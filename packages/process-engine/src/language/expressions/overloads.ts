import type { Run } from './run.ts';
import { listOf, type Scalar, type Type } from './types.ts';
import { ExpressionFault, kindOfValue, type Value } from './values.ts';

/** The type of a parameter: a kind, either kind of number, or anything. */
export type Parameter = 'any' | 'number' | 'list' | 'map' | 'optional' | Exclude<Scalar, 'dyn' | 'null'>;

/**
 * A function for arguments of certain kinds. A member's receiver is its first argument. The result type follows from
 * the types of the arguments; a call costs one step, and its evaluation charges the costs that grow with the arguments.
 */
export interface Overload {
  readonly name: string;
  readonly style: 'function' | 'member';
  readonly parameters: readonly Parameter[];
  readonly result: (types: readonly Type[]) => Type;
  readonly run: (args: readonly Value[], run: Run) => Value;
}

/** @param signature `text.split(string, int)` for a member, `size(list)` for a function */
export function overload(
  signature: string,
  result: Type | Overload['result'],
  // biome-ignore lint/suspicious/noExplicitAny: the parameters of the signature are the arguments of its evaluation
  run: (run: Run, ...args: any[]) => Value,
): Overload {
  const [, receiver, name = '', listed = ''] = /^(?:(\w+)\.)?(\w+)\(([^)]*)\)$/.exec(signature) ?? [];
  const parameters = [receiver, ...listed.split(', ')].filter((one) => one !== undefined && one !== '');
  return {
    name,
    style: receiver === undefined ? 'function' : 'member',
    parameters: parameters as Parameter[],
    result: typeof result === 'function' ? result : () => result,
    run: (args, at) => run(at, ...args),
  };
}

/** Overloads are grouped by name and number of arguments, so that only matching ones are tried. */
export function overloadsByName(
  all: readonly Overload[],
): (style: string, name: string, count: number) => Overload[] {
  const keyOf = (style: string, name: string, count: number) => `${style} ${name} ${count}`;
  const known = Map.groupBy(all, ({ style, name, parameters }) => keyOf(style, name, parameters.length));
  return (style, name, count) => known.get(keyOf(style, name, count)) ?? [];
}

/** Whether an argument of this type may be accepted by the parameter at run time. */
export function mayTake({ kind }: Type, parameter: Parameter): boolean {
  if (kind === 'dyn' || parameter === 'any') return true;
  if (parameter === 'number') return kind === 'int' || kind === 'double';
  if (parameter === 'map') return kind === 'map' || kind === 'object';
  return kind === parameter;
}

/** Whether a value has this type. An integer from JSON is also an int. */
function takes(value: Value, parameter: Parameter): boolean {
  if (parameter === 'any') return true;
  const kind = kindOfValue(value);
  if (parameter === 'number') return kind === 'int' || kind === 'double';
  if (parameter === 'int') return kind === 'int' || Number.isSafeInteger(value);
  if (parameter === 'double') return kind === 'int' || kind === 'double';
  return kind === parameter;
}

/** Runs the first overload that accepts the arguments. @throws ExpressionFault `no_such_overload` */
export function runFirst(overloads: readonly Overload[], args: readonly Value[], run: Run): Value {
  const fitting = overloads.find(({ parameters }) =>
    parameters.every((parameter, n) => takes(args[n] as Value, parameter)),
  );
  if (fitting === undefined) throw new ExpressionFault('no_such_overload');
  run.spend(1);
  return fitting.run(args, run);
}

/** The type of a list's items. */
export function itemOf(type: Type | undefined): Type {
  return type !== undefined && type.kind === 'list' ? type.of : { kind: 'dyn' };
}

/** The type of a list with the same item type as the first argument. */
export const sameList = ([first]: readonly Type[]): Type => listOf(itemOf(first));
