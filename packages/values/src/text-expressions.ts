import type { Json } from './wire.ts';

/**
 * Texts with expressions (decision 0229). Each expression language has its own parser; this module inserts the
 * values, so that they are written the same way in all of them.
 */

/** A literal and the expression after it. The last part has no expression. */
export interface TextPart<E> {
  readonly literal: string;
  readonly expression: E | undefined;
}

/** The expression of a string that consists of one expression; undefined for any other string. */
export function wholeExpression<E>(parts: readonly TextPart<E>[]): E | undefined {
  const [first, last] = parts;
  return parts.length === 2 && first?.literal === '' && last?.literal === '' ? first.expression : undefined;
}

/** A value as inserted into a string: null becomes an empty string, and any value other than a string becomes JSON. */
export function formatValue(value: Json): string {
  if (value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/**
 * The string with the values of its expressions inserted; the expressions are evaluated in order. @param charactersMax
 * evaluation stops as soon as the string is longer, so the result may exceed this maximum
 */
export function insertValues<E>(
  parts: readonly TextPart<E>[],
  evaluate: (expression: E) => Json,
  charactersMax = Number.POSITIVE_INFINITY,
): string {
  let text = '';
  for (const { literal, expression } of parts) {
    text += literal + (expression === undefined ? '' : formatValue(evaluate(expression)));
    if (text.length > charactersMax) break;
  }
  return text;
}
