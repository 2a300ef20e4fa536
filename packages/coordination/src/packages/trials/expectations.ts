import type { Json, JsonObject } from '@baton/values/wire';
import { NotSimulated, type Outcome } from './outcome.ts';
import type { Expectation, ExpectationKind } from './test-document.ts';

export interface Failure {
  /** The step's number, starting at 1. */
  readonly step: number;
  readonly message: string;
  readonly expected: Json;
  readonly actual: Json;
}

/** The size limit of a value, as JSON: 500 tests with 6 failures stay within 4 MiB. */
const shownCharactersMax = 400;

/**
 * Compares the outcome of a step with the test's expectations. An unexpected refusal or problem is also a failure.
 * @throws NotSimulated if it expects an effect that is not simulated
 */
export function failuresOf(step: number, expect: Expectation, outcome: Outcome): Failure[] {
  const { unknown } = outcome;
  const named = (Object.keys(expect) as ExpectationKind[]).find((name) => unknown?.names.includes(name));
  if (named !== undefined) throw new NotSimulated(`${named}: ${unknown?.why}`);
  const found: Failure[] = [];
  const compare = (message: string, isAsExpected: boolean, expected: Json, actual: Json) => {
    if (!isAsExpected) found.push({ step, message, expected: shown(expected), actual: shown(actual) });
  };
  const { status, open, data, created, problems = [], refused = null } = expect;
  const is = (message: string, expected: Json, actual: Json) =>
    compare(message, areEqual(expected, actual), expected, actual);
  is(refused === null ? 'the act was refused' : 'the act should have been refused', refused, outcome.refused);
  is('problems differ', sorted(problems), sorted(outcome.problems));
  if (status !== undefined) is('the status differs', status, outcome.status);
  if (open !== undefined) is('other elements are open', sorted(open), sorted(outcome.open ?? []));
  if (data !== undefined)
    compare('data differ', isWithin(data, outcome.data ?? {}), data, outcome.data ?? {});
  if (created !== undefined)
    compare(
      created.length === 0 ? 'something was created' : 'what was created does not match',
      created.length === 0 ? outcome.created.length === 0 : areCreated(created, outcome),
      created,
      [...outcome.created],
    );
  return found;
}

const sorted = (names: readonly string[]) => [...new Set(names)].sort();

/** Whether all expected members match; lists are compared as a whole. */
export function isWithin(expected: Json, actual: Json): boolean {
  if (!isObject(expected) || !isObject(actual)) return areEqual(expected, actual);
  return Object.entries(expected).every(
    ([name, value]) => Object.hasOwn(actual, name) && isWithin(value, actual[name] as Json),
  );
}

function areEqual(left: Json, right: Json): boolean {
  if (Array.isArray(left) && Array.isArray(right))
    return left.length === right.length && left.every((item, n) => areEqual(item, right[n] as Json));
  if (!isObject(left) || !isObject(right)) return left === right;
  return Object.keys(left).length === Object.keys(right).length && isWithin(left, right);
}

function isObject(value: Json): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Each expectation must match a different object. */
function areCreated(expected: NonNullable<Expectation['created']>, { created }: Outcome): boolean {
  const left = [...created];
  // The most specific expectations are matched first, so that less specific ones don't take their objects.
  const members = ({ match }: { match: JsonObject }) => Object.keys(match).length;
  return expected
    .toSorted((a, b) => members(b) - members(a))
    .every(({ kind, match }) => {
      const at = left.findIndex((one) => one.kind === kind && isWithin(match, one));
      if (at < 0) return false;
      left.splice(at, 1);
      return true;
    });
}

function shown(value: Json): Json {
  const text = JSON.stringify(value);
  return text.length <= shownCharactersMax
    ? value
    : `${text.slice(0, shownCharactersMax - 1).toWellFormed()}…`;
}
