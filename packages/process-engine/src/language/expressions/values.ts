import { isObject } from './types.ts';

/**
 * Values of expressions. JSON values are used unchanged, except that numbers of a declared integer type become a bigint
 * when they are read. Numbers without a declared type are doubles, and operations accept either kind.
 */

/** Counts the cost of an evaluation. */
export interface Meter {
  /** Charges this many steps; throws if the limit is exceeded. */
  spend(steps: number): void;
}

/** An instant, in milliseconds since 1970. */
export class Instant {
  readonly ms: number;

  constructor(ms: number) {
    if (!(ms >= instantMinMs && ms <= instantMaxMs)) throw new ExpressionFault('number_out_of_range');
    this.ms = ms;
  }
}

/** A duration, in milliseconds. */
export class Span {
  readonly ms: number;

  constructor(ms: number) {
    if (!(Math.abs(ms) <= spanMaxMs)) throw new ExpressionFault('number_out_of_range');
    this.ms = ms;
  }
}

/** The years 1 to 9999, as in CEL. */
const instantMinMs = -62_135_596_800_000;
const instantMaxMs = Date.UTC(9999, 11, 31, 23, 59, 59, 999);
/** Ten thousand years. */
const spanMaxMs = 315_576_000_000_000;

/** An optional value. */
export class Optional {
  readonly value: Value | undefined;

  constructor(value: Value | undefined) {
    this.value = value;
  }
}

export type Value =
  | null
  | boolean
  | number
  | bigint
  | string
  | Instant
  | Span
  | Optional
  | readonly Value[]
  | { readonly [name: string]: Value };

export type ValueMap = { readonly [name: string]: Value };

/** The failure of an expression: `expression_error` with a reason. */
export class ExpressionFault extends Error {
  readonly reason: FaultReason;

  constructor(reason: FaultReason) {
    super(reason);
    this.reason = reason;
  }
}

export type FaultReason =
  | 'calendar_missing'
  | 'calendar_without_hours'
  | 'calendar_scan_limit'
  | 'no_such_key'
  | 'no_such_overload'
  | 'division_by_zero'
  | 'number_out_of_range'
  | 'index_out_of_range'
  | 'invalid_argument'
  | 'invalid_pattern'
  | 'optional_without_value';

export type ValueKind =
  | 'null'
  | 'bool'
  | 'int'
  | 'double'
  | 'string'
  | 'timestamp'
  | 'duration'
  | 'optional'
  | 'list'
  | 'map';

export function kindOfValue(value: Value): ValueKind {
  switch (typeof value) {
    case 'string':
      return 'string';
    case 'bigint':
      return 'int';
    case 'number':
      return 'double';
    case 'boolean':
      return 'bool';
    default:
      return kindOfObject(value);
  }
}

function kindOfObject(value: Exclude<Value, string | bigint | number | boolean>): ValueKind {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'list';
  if (value instanceof Instant) return 'timestamp';
  if (value instanceof Span) return 'duration';
  return value instanceof Optional ? 'optional' : 'map';
}

/** Both kinds of numbers are interchangeable, because JSON has only one. */
export function isNumeric(value: Value): value is number | bigint {
  return typeof value === 'number' || typeof value === 'bigint';
}

/** The number of text characters that cost one step. */
const charactersPerStep = 16;

export function textSteps(...texts: readonly string[]): number {
  return Math.ceil(texts.reduce((sum, text) => sum + text.length, 0) / charactersPerStep);
}

const intMax = 2n ** 63n - 1n;

/** @throws ExpressionFault for a number that doesn't fit into 64 bits */
export function checkedInt(value: bigint): bigint {
  if (value > intMax || value < -intMax - 1n) throw new ExpressionFault('number_out_of_range');
  return value;
}

/** A number as an index of a list or a string. @throws ExpressionFault if it is not an integer */
export function wholeOf(value: Value): number {
  const number = typeof value === 'bigint' ? Number(value) : value;
  if (typeof number !== 'number' || !Number.isSafeInteger(number))
    throw new ExpressionFault('invalid_argument');
  return number;
}

/** Whether two values are equal; each compared part costs a step. */
export function areEqual(a: Value, b: Value, meter: Meter): boolean {
  meter.spend(1);
  if (typeof a === 'string' && typeof b === 'string') {
    meter.spend(textSteps(a.length < b.length ? a : b));
    return a === b;
  }
  // eslint-disable-next-line eqeqeq -- an int equals a double with the same value
  if (isNumeric(a) && isNumeric(b)) return a == b;
  if (a === b) return true;
  const kind = kindOfValue(a);
  if (kind !== kindOfValue(b)) return false;
  if (kind === 'list') return areEqualLists(a as readonly Value[], b as readonly Value[], meter);
  if (kind === 'map') return areEqualMaps(a as ValueMap, b as ValueMap, meter);
  if (kind === 'timestamp' || kind === 'duration') return (a as Span).ms === (b as Span).ms;
  if (kind !== 'optional') return false;
  const [left, right] = [(a as Optional).value, (b as Optional).value];
  return left === undefined || right === undefined ? left === right : areEqual(left, right, meter);
}

function areEqualLists(a: readonly Value[], b: readonly Value[], meter: Meter): boolean {
  return a.length === b.length && a.every((item, n) => areEqual(item, b[n] as Value, meter));
}

function areEqualMaps(a: ValueMap, b: ValueMap, meter: Meter): boolean {
  const names = Object.keys(a);
  meter.spend(names.length);
  if (names.length !== Object.keys(b).length) return false;
  return names.every((name) => Object.hasOwn(b, name) && areEqual(a[name] as Value, b[name] as Value, meter));
}

/** Negative if the first is less than the second. @throws ExpressionFault for two values without an order */
export function compare(a: Value, b: Value, meter: Meter): number {
  meter.spend(1);
  if (isNumeric(a) && isNumeric(b)) return a < b ? -1 : Number(a > b);
  const kind = kindOfValue(a);
  if (kind !== kindOfValue(b)) throw new ExpressionFault('no_such_overload');
  if (kind === 'string') {
    meter.spend(textSteps(a as string));
    return (a as string) < (b as string) ? -1 : Number((a as string) > (b as string));
  }
  if (kind === 'bool') return Number(a) - Number(b);
  if (kind === 'timestamp' || kind === 'duration') return (a as Span).ms - (b as Span).ms;
  throw new ExpressionFault('no_such_overload');
}

/** The members of a map. */
export function isMap(value: Value): value is ValueMap {
  return isObject(value) && kindOfValue(value) === 'map';
}
