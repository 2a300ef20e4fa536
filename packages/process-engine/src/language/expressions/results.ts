import type { Json } from '@baton/values/wire';
import { isoDurationOf } from './durations.ts';
import {
  ExpressionFault,
  Instant,
  type Meter,
  Optional,
  Span,
  textSteps,
  type Value,
  type ValueMap,
} from './values.ts';

/**
 * The result of an expression as JSON. Each part costs a step, as often as it occurs.
 * @throws ExpressionFault `number_out_of_range` for a number that JSON can't represent exactly
 */
export function jsonOf(value: Value, meter: Meter): Json {
  meter.spend(1);
  if (value === null || typeof value === 'boolean') return value;
  if (typeof value === 'string') {
    meter.spend(textSteps(value));
    return value;
  }
  if (typeof value === 'number' || typeof value === 'bigint') return numberOf(value);
  if (value instanceof Instant) return new Date(value.ms).toISOString();
  if (value instanceof Span) return isoDurationOf(value.ms);
  if (value instanceof Optional) return value.value === undefined ? null : jsonOf(value.value, meter);
  if (Array.isArray(value)) return value.map((item: Value) => jsonOf(item, meter));
  return Object.fromEntries(
    Object.entries(value as ValueMap).map(([name, member]) => [name, jsonOf(member, meter)]),
  );
}

function numberOf(value: number | bigint): number {
  const number = Number(value);
  const isExact = typeof value === 'bigint' ? Number.isSafeInteger(number) : Number.isFinite(number);
  if (!isExact) throw new ExpressionFault('number_out_of_range');
  return number;
}
