import { z } from 'zod';

/** The wire formats that both services share. */

export type Json = null | boolean | number | string | Json[] | JsonObject;
export type JsonObject = { [name: string]: Json };

/** A UUID, accepted in either case and stored in lower case. */
export const Uuid = z
  .string()
  .regex(/^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$/, 'must be a UUID')
  .toLowerCase()
  .meta({ id: 'Uuid', format: 'uuid' });

/** An instant in a response: RFC 3339, UTC, milliseconds. */
export const Timestamp = z
  .string()
  .regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  .meta({ id: 'Timestamp', format: 'date-time', description: 'RFC 3339, UTC, milliseconds.' });

const instantProblem = 'must be an instant like 2026-12-24T12:00:00Z, or a date like 2026-12-24';

/** An instant in a request: any offset; without one it is UTC. Converted to the format of responses. */
export const InstantInput = z
  .union([z.iso.datetime({ offset: true, local: true }).max(100), z.iso.date()], instantProblem)
  .refine((text) => !Number.isNaN(Date.parse(text)), instantProblem)
  .transform((text) =>
    new Date(/(Z|[+-]\d\d:\d\d)$/i.test(text) || text.length === 10 ? text : `${text}Z`).toISOString(),
  )
  // An offset can move an instant out of the four-digit years, and other years can't be stored.
  .refine((text) => /^(?!0000)\d{4}-/.test(text), 'must be in the years 1 to 9999')
  // Has no `format: date-time`, which would exclude dates without a time, and times without an offset.
  .meta({
    id: 'Instant',
    description: 'RFC 3339 with any offset; without one, UTC. A date alone means its first moment in UTC.',
  });

/** A free JSON object. It is passed on as parsed, never copied, so that `__proto__` stays an ordinary key. */
export const FreeObject = z
  .custom<JsonObject>(
    (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
    'must be an object',
  )
  .meta({ type: 'object' });

/** A free object in a request. Its limits are checked by the operation, with its own code. */
export function freeObjectOf(bytesMax: number) {
  return FreeObject.meta({ type: 'object', 'x-maxBytes': bytesMax });
}

/** Values by names that the client chooses. A plain record would silently drop the name `__proto__`. */
export function valuesByName<Value extends z.ZodType>(name: z.ZodString, value: Value, namesMax: number) {
  const record = z.record(name, value);
  const { $schema: _, ...described } = z.toJSONSchema(record);
  const form = { ...described, maxProperties: namesMax };
  return z
    .custom<z.input<typeof record>>(
      (given) => !Object.hasOwn(Object(given), '__proto__'),
      'must not contain the name __proto__',
    )
    .refine((given) => Object.keys(Object(given)).length <= namesMax, `must have at most ${namesMax} names`)
    .pipe(record)
    .meta(form);
}

/** String values by names that the client chooses. */
export function textsByName(name: z.ZodString, text: z.ZodString, namesMax: number) {
  return valuesByName(name, text, namesMax);
}

export const queryWordCharactersMax = 2000;
/**
 * A string for which the endpoint has stricter rules with an error code of their own; this limit is higher than any of
 * them.
 */
export const QueryWord = z.string().max(queryWordCharactersMax);

const searchCharactersMax = 200;
const searchWordsMax = 10;

/** `?q=maria`: each word must be a prefix of a word in the name. */
export const NameSearch = z
  .string()
  .max(searchCharactersMax)
  .refine(
    (text) => text.split(/\s+/).filter(Boolean).length <= searchWordsMax,
    `must have at most ${searchWordsMax} words`,
  )
  .transform((text) => text.trim());

/** `?flag=true`; some clients write `True`. */
export const QueryFlag = z
  .string()
  .toLowerCase()
  .pipe(z.enum(['true', 'false']))
  .transform((word) => word === 'true')
  .meta({ type: 'boolean' });

/** `?after=12`: a string of digits, parsed as a number. */
export function queryInteger(min: number, max: number) {
  return z
    .string()
    .regex(/^-?\d+$/, 'must be an integer')
    .transform(Number)
    .refine((value) => value >= min && value <= max, `must be from ${min} to ${max}`)
    .meta({ type: 'integer', minimum: min, maximum: max });
}

/** `?ids=A,B`: UUIDs, separated by commas. */
export function queryUuids(idsMax: number) {
  return z
    .string()
    .max(37 * idsMax)
    .transform((text) => text.split(','))
    .pipe(z.array(Uuid).max(idsMax))
    .meta({ type: 'string', maxLength: 37 * idsMax });
}

/**
 * One page of a list in a response: its items, and the cursor of the next page, null on the last one. Its name in the
 * API description is the name of the item plus `Page`.
 */
export function pageOf<Item extends z.ZodType>(item: Item) {
  const { id } = item.meta() ?? {};
  const page = z.strictObject({ items: z.array(item), nextCursor: z.string().nullable() });
  return typeof id === 'string' ? page.meta({ id: `${id}Page` }) : page;
}
