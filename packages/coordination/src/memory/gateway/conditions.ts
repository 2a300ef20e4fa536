import { z } from 'zod';

/** Filters of requests to memory. */

/** The instant, with its offset, for which memory returns its state. */
export const AsOf = z.iso
  .datetime({ offset: true })
  .max(100)
  .transform((text) => new Date(text).toISOString())
  // An offset can move an instant out of the range of four-digit years.
  .refine((text) => /^(?!0000)\d{4}-/.test(text), 'must be in the years 1 to 9999')
  .meta({ format: 'date-time', description: 'RFC 3339 with an offset.' });

export const Direction = z.enum(['out', 'in', 'both']);

const scalar = z.union([z.string().max(1000), z.number(), z.boolean(), z.null()]);

/** A condition on an attribute of an entity. See docs/reference/memory.md#knowledge. */
const Condition = z
  .strictObject({
    attr: z.string().min(1).max(200),
    op: z.enum(['eq', 'in', 'prefix', 'lte', 'gte', 'exists']),
    value: z.union([scalar, z.array(scalar).max(100)]).optional(),
  })
  .meta({ id: 'MemoryCondition' });
type Condition = z.output<typeof Condition>;

export const Conditions = z.array(Condition).max(20);

/**
 * The position of the first condition whose value doesn't match its operator, or -1: `in` takes a list, `exists` takes
 * a boolean or no value, and the others take one value.
 */
export function findInvalidCondition(conditions: readonly Condition[]): number {
  return conditions.findIndex(({ op, value }) => {
    if (op === 'in') return !Array.isArray(value);
    if (op === 'exists') return value !== undefined && typeof value !== 'boolean';
    return value === undefined || Array.isArray(value);
  });
}
