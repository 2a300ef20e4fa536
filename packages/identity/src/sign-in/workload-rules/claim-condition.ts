import { z } from 'zod';
import { valuesByName } from '@baton/values/wire';

/** What a rule requires of one claim of an assertion, and which of two rules is more specific. */

const Text = z.string().min(1).max(500);
const valuesMax = 100;
const conditionsMax = 20;

/** Exactly one of the three. */
export const ClaimCondition = z
  .union([
    z.strictObject({ equals: Text }),
    z.strictObject({ prefix: Text.describe('The value begins with it.') }),
    z.strictObject({ oneOf: z.array(Text).min(1).max(valuesMax) }),
  ])
  .meta({ id: 'ClaimCondition' });
export type ClaimCondition = z.infer<typeof ClaimCondition>;

/** Keyed by the name of the claim, or by a JSON Pointer (RFC 6901) into the token: `/kubernetes.io/namespace`. */
export const ClaimConditions = valuesByName(z.string().min(1).max(200), ClaimCondition, conditionsMax);
export type ClaimConditions = Readonly<Record<string, ClaimCondition>>;

type Json = Readonly<Record<string, unknown>>;

/** Whether all conditions are met. If a claim is a list, one of its elements must meet the condition. */
export function meets(payload: Json, conditions: ClaimConditions): boolean {
  return Object.entries(conditions).every(([name, condition]) =>
    textsIn(payload, name).some((text) => isMetBy(condition, text)),
  );
}

function isMetBy(condition: ClaimCondition, text: string): boolean {
  if ('equals' in condition) return text === condition.equals;
  if ('prefix' in condition) return text.startsWith(condition.prefix);
  return condition.oneOf.includes(text);
}

/** The values of a claim as strings: GitLab writes ids as strings, others as numbers. */
function textsIn(payload: Json, name: string): string[] {
  const value = name.startsWith('/') ? resolvePointer(payload, name) : ownValue(payload, name);
  return [value].flat().flatMap((one) => {
    if (typeof one === 'string') return [one];
    return typeof one === 'boolean' || Number.isSafeInteger(one) ? [String(one)] : [];
  });
}

function resolvePointer(payload: Json, pointer: string): unknown {
  const names = pointer.slice(1).split('/');
  return names.reduce<unknown>(
    (value, name) => ownValue(value, name.replaceAll('~1', '/').replaceAll('~0', '~')),
    payload,
  );
}

function ownValue(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
  return (value as Json)[name];
}

/**
 * The rule that is more specific than all others; undefined if there is none, or if two of them can't be compared. A
 * rule is more specific than another if each condition of the other is implied by one of its own, but not the reverse.
 */
export function mostSpecific<Rule extends { readonly claims: ClaimConditions }>(
  rules: readonly Rule[],
): Rule | undefined {
  const [first, ...rest] = rules;
  if (first === undefined) return undefined;
  const best = rest.reduce((found, rule) => (implies(rule.claims, found.claims) ? rule : found), first);
  const isBest = rules.every(
    (rule) => rule === best || (implies(best.claims, rule.claims) && !implies(rule.claims, best.claims)),
  );
  return isBest ? best : undefined;
}

/** Whether every token that meets `one` also meets `other`. */
function implies(one: ClaimConditions, other: ClaimConditions): boolean {
  return Object.entries(other).every(([name, wider]) => {
    const narrower = Object.hasOwn(one, name) ? one[name] : undefined;
    return narrower !== undefined && isWithin(narrower, wider);
  });
}

function isWithin(narrower: ClaimCondition, wider: ClaimCondition): boolean {
  if ('prefix' in narrower) return 'prefix' in wider && narrower.prefix.startsWith(wider.prefix);
  return valuesOf(narrower).every((value) => isMetBy(wider, value));
}

/** The values that a condition allows; undefined if it has no list of them. */
function valuesOf(condition: Exclude<ClaimCondition, { prefix: string }>): readonly string[] {
  return 'equals' in condition ? [condition.equals] : condition.oneOf;
}
