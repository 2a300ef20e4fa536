import { itemOf, type Overload, overload, sameList } from './overloads.ts';
import type { Run } from './run.ts';
import { bool, dyn, eitherOf, int, listOf, type Type } from './types.ts';
import {
  areEqual,
  compare,
  ExpressionFault,
  kindOfValue,
  Optional,
  type Value,
  type ValueMap,
  wholeOf,
} from './values.ts';

/** Functions of lists, maps, and optional values. */

type List = readonly Value[];

const inOptional = ([first]: readonly Type[]): Type =>
  first !== undefined && first.kind === 'optional' ? first.of : dyn;

export const listFunctions: readonly Overload[] = [
  overload('size(list)', int, (_, list: List) => BigInt(list.length)),
  overload('list.size()', int, (_, list: List) => BigInt(list.length)),
  overload('size(map)', int, sizeOfMap),
  overload('map.size()', int, sizeOfMap),
  overload('list.slice(int, int)', sameList, (run, list: List, from: Value, to: Value) => {
    const [begin, end] = [wholeOf(from), wholeOf(to)];
    if (begin < 0 || end < begin || end > list.length) throw new ExpressionFault('index_out_of_range');
    run.spend(end - begin);
    return list.slice(begin, end);
  }),
  overload(
    'list.flatten()',
    ([list]) => listOf(itemOf(itemOf(list))),
    (run, list: List) => flat(run, list, 1),
  ),
  overload('list.flatten(int)', listOf(dyn), (run, list: List, depth: Value) => {
    const levels = wholeOf(depth);
    if (levels < 0 || levels > flattenLevelsMax) throw new ExpressionFault('invalid_argument');
    return flat(run, list, levels);
  }),
  overload('list.sort()', sameList, (run, list: List) => {
    run.spend(list.length);
    return list.toSorted((a, b) => compare(a, b, run));
  }),
  overload('list.distinct()', sameList, distinct),
  overload('list.reverse()', sameList, (run, list: List) => {
    run.spend(list.length);
    return list.toReversed();
  }),
  overload('optional.hasValue()', bool, (_, given: Optional) => given.value !== undefined),
  overload('optional.value()', inOptional, (_, given: Optional) => {
    if (given.value === undefined) throw new ExpressionFault('optional_without_value');
    return given.value;
  }),
  overload(
    'optional.orValue(any)',
    ([given, other]) => eitherOf(inOptional([given as Type]), other as Type),
    orValue,
  ),
  overload(
    'optional.or(optional)',
    ([given, other]) => eitherOf(given as Type, other as Type),
    (_, given, other) => ((given as Optional).value === undefined ? other : given),
  ),
];

const flattenLevelsMax = 32;

function sizeOfMap(run: Run, map: ValueMap): bigint {
  const { length } = Object.keys(map);
  run.spend(length);
  return BigInt(length);
}

function orValue(_: Run, given: Optional, other: Value): Value {
  return given.value ?? other;
}

function flat(run: Run, list: List, levels: number): Value[] {
  run.spend(list.length);
  return list.flatMap((item) => (levels > 0 && Array.isArray(item) ? flat(run, item, levels - 1) : [item]));
}

/** Strings and numbers are looked up in a set; any other value is compared with each of the previous ones. */
function distinct(run: Run, list: List): Value[] {
  const scalars = new Set<Value>();
  const kept: Value[] = [];
  const others: Value[] = [];
  for (const item of list) {
    run.spend(1);
    const isScalar = ['string', 'int', 'double', 'bool', 'null'].includes(kindOfValue(item));
    // A bigint and a number with the same value count as equal.
    const name = typeof item === 'bigint' && Number.isSafeInteger(Number(item)) ? Number(item) : item;
    if (isScalar ? scalars.has(name) : others.some((other) => areEqual(other, item, run))) continue;
    if (isScalar) scalars.add(name);
    else others.push(item);
    kept.push(item);
  }
  return kept;
}
