import { Uuid } from '@baton/kernel/wire';
import { z } from 'zod';

/** The forms of fields that several resources share (contract, sections 1, 5 and 6). */

/** Text of `min` to `max` characters: code points, not UTF-16 units. */
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
/** Of what an operator closes and opens again. */
export const Status = z.enum(['active', 'disabled']);
/** The name of an audience or group among those of its tenant. */
export const Key = z.string().regex(/^[a-z0-9][a-z0-9._-]{1,118}[a-z0-9]$/);
/** Of the name of an audience that is asked for: no longer one exists. */
export const audienceLengthMax = 120;
export const Issuer = characters(1, 500);

/** A list without repeats, in the order of code points: the form of every list of names in an answer. */
export const NameSet = z.array(z.string()).transform(sortedSet);

export const tenantParam = { tenantId: Uuid };
export const principalParams = { tenantId: Uuid, principalId: Uuid };

export function sortedSet(names: readonly string[]): string[] {
  return [...new Set(names)].sort(byCodePoint);
}

/** Without copies of the texts: anybody may send a list that fills a body, and it is sorted before its secret is judged. */
function byCodePoint(left: string, right: string): number {
  const length = Math.min(left.length, right.length);
  for (let index = 0; index < length; index += 1) {
    const [one, other] = [rankOf(left.charCodeAt(index)), rankOf(right.charCodeAt(index))];
    if (one !== other) return one - other;
  }
  return left.length - right.length;
}

/** Halves of surrogate pairs stand for the code points above all others. */
function rankOf(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}
