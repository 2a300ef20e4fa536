import { nodesOf } from '@baton/values/json';
import { formatValue, wholeExpression } from '@baton/values/text-expressions';
import type { Json, JsonObject } from '@baton/values/wire';
import type { DecisionAction } from './actions.ts';
import { type Expression, type Lookup, partsOf, truncateValue } from './expressions.ts';

/**
 * The actions of a decision with resolved expressions. A decider sees the effect of the decision, and exactly that
 * effect is executed, even if the task has changed since. Values are stored separately from the texts, so a value with
 * the syntax of an expression is never evaluated.
 */

/** Values of expressions, by `nameOf`. */
export type ExpressionValues = Readonly<Record<string, Json>>;

/** Fields of an action that can't contain expressions. */
const literalMembers: readonly string[] = ['type', 'relation', 'status', 'skill', 'expect'];
const reactionMembers: readonly string[] = ['onSuccess', 'onFailure'];

/** The expressions of these actions and of their reactions, without duplicates. */
export function expressionsIn(actions: readonly DecisionAction[]): Expression[] {
  const found = new Map<string, Expression>();
  for (const { value } of nodesOf(actions as unknown as Json)) {
    const parts = typeof value === 'string' ? partsOf(value) : [];
    if ('fault' in parts) continue;
    for (const { expression } of parts)
      if (expression !== undefined) found.set(nameOf(expression), expression);
  }
  return [...found.values()];
}

/**
 * Resolves those expressions of these actions whose values are known before a decision.
 * @returns undefined if the values have more characters than `charactersMax`
 */
export async function findValues(
  actions: readonly DecisionAction[],
  lookup: Lookup,
  charactersMax: number,
): Promise<ExpressionValues | undefined> {
  const values: [string, Json][] = [];
  let characters = 0;
  for (const expression of expressionsIn(actions)) {
    if (!isKnownBefore(expression)) continue;
    const value = truncateValue(expression, await lookup(expression));
    characters += formatValue(value).length;
    if (characters > charactersMax) return undefined;
    values.push([nameOf(expression), value]);
  }
  return Object.fromEntries(values);
}

/** A lookup of these values and of values that are only known later: those of the decision and of the ended call. */
export function lookupIn(values: ExpressionValues, others: Lookup): Lookup {
  return async (expression) => {
    if (!isKnownBefore(expression)) return others(expression);
    const name = nameOf(expression);
    return Object.hasOwn(values, name) ? (values[name] ?? null) : null;
  };
}

/**
 * Inserts these values into the actions. An expression without a value, or with one that is only known after the
 * decision, remains unresolved.
 * @returns undefined if the texts exceed `charactersMax`, since a few expressions can produce megabytes
 */
export function fillActions(
  actions: readonly DecisionAction[],
  values: ExpressionValues,
  charactersMax: number,
): JsonObject[] | undefined {
  const filling = { values, charactersLeft: charactersMax };
  const filled = actions.map((action) => fillAction(action, filling));
  return filling.charactersLeft < 0 ? undefined : filled;
}

interface Filling {
  readonly values: ExpressionValues;
  /** The remaining characters; below 0, nothing more is inserted. */
  charactersLeft: number;
}

function fillAction(action: object, filling: Filling): JsonObject {
  const kinds = Object.entries(action).map(([kind, content]): [string, Json] => [
    kind,
    Object.fromEntries(
      Object.entries(content as JsonObject).map(([name, value]) => [name, fillMember(name, value, filling)]),
    ),
  ]);
  return Object.fromEntries(kinds);
}

function fillMember(name: string, value: Json, filling: Filling): Json {
  if (literalMembers.includes(name)) return value;
  if (reactionMembers.includes(name) && Array.isArray(value))
    return value.map((reaction) => fillAction(reaction as JsonObject, filling));
  return fillDocument(value, filling);
}

/** Inserts values into a document. Recursion is limited by the depth of declared documents. */
function fillDocument(document: Json, filling: Filling): Json {
  if (typeof document === 'string') return fillText(document, filling);
  if (typeof document !== 'object' || document === null) return document;
  if (Array.isArray(document)) return document.map((item) => fillDocument(item, filling));
  return Object.fromEntries(
    Object.entries(document).map(([name, value]) => [name, fillDocument(value, filling)]),
  );
}

function fillText(text: string, filling: Filling): Json {
  const parts = partsOf(text);
  if ('fault' in parts) return text;
  const whole = wholeExpression(parts);
  if (whole !== undefined) {
    const value = knownValue(whole, filling.values);
    filling.charactersLeft -= formatValue(value ?? null).length;
    return value === undefined || filling.charactersLeft < 0 ? text : value;
  }
  let written = '';
  for (const { literal, expression, source } of parts) {
    const value = expression && knownValue(expression, filling.values);
    const piece = literal + (value === undefined ? source : formatValue(value));
    filling.charactersLeft -= piece.length;
    if (filling.charactersLeft < 0) return written;
    written += piece;
  }
  return written;
}

/** The value of an expression; undefined if it can't be shown, because it isn't known yet or is required but absent. */
function knownValue(expression: Expression, values: ExpressionValues): Json | undefined {
  const name = nameOf(expression);
  if (!Object.hasOwn(values, name)) return undefined;
  const value = values[name] ?? null;
  return expression.isRequired && (value === null || value === '') ? undefined : value;
}

function isKnownBefore({ root }: Expression): boolean {
  return root === 'task' || root === 'spawnedBy';
}

/** The name under which an expression's value is stored: expressions with the same name have the same value. */
function nameOf({ root, path, charactersMax }: Expression): string {
  return `$.${root}.${path}${charactersMax === undefined ? '' : `|truncate:${charactersMax}`}`;
}
