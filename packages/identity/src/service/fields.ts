import { z } from 'zod';
import { Uuid } from '@baton/values/wire';

/** Fields that several resources share (see docs/reference/directory.md#limits). */

/** A string of `min` to `max` characters, counted as code points, not UTF-16 units. */
export function characters(min: number, max: number) {
  return z
    .string()
    .refine((text) => {
      const count = [...text].length;
      return count >= min && count <= max;
    }, `must have ${min} to ${max} characters`)
    .meta({ minLength: min, maxLength: max });
}

export const Name = characters(1, 200);
export const Reason = characters(0, 200);
/** The status of tenants, audiences, groups and other objects that an operator disables and enables. */
export const Status = z.enum(['active', 'disabled']);
/** The name of an audience or group, unique in its tenant. */
export const Key = z.string().regex(/^[a-z0-9][a-z0-9._-]{1,118}[a-z0-9]$/);
/** The maximum length of an audience's key. */
export const audienceLengthMax = 120;
export const Issuer = characters(1, 500);

/** A list of names, parsed without repetitions and in the order of code points, as in responses. */
export const NameSet = names().transform(sortedSet);

/** Names that are validated later by a stricter schema with its own error code. */
export function names(min = 0) {
  return z.array(z.string().max(10_000)).min(min).max(1000);
}

const scopeLengthMax = 120;

/**
 * Whether a string can be a scope. Access tokens separate scopes by spaces: a scope that contains a space would be read
 * as two, and the second might never have been granted.
 */
export function isScope(text: string): boolean {
  return text !== '' && [...text].length <= scopeLengthMax && !/[\s\p{Z}\p{Cc}]/u.test(text);
}

export const tenantParam = { tenantId: Uuid };
export const principalParams = { tenantId: Uuid, principalId: Uuid };

export function sortedSet(names: readonly string[]): string[] {
  return [...new Set(names)].sort(byCodePoint);
}

/**
 * Makes no copies of the strings, because the list is sorted before the credential is checked: any caller may send one
 * of the maximum body size.
 */
function byCodePoint(left: string, right: string): number {
  const length = Math.min(left.length, right.length);
  for (let index = 0; index < length; index += 1) {
    const [one, other] = [rankOf(left.charCodeAt(index)), rankOf(right.charCodeAt(index))];
    if (one !== other) return one - other;
  }
  return left.length - right.length;
}

/** A surrogate belongs to a code point above U+FFFF, so it sorts after every other unit. */
function rankOf(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}
