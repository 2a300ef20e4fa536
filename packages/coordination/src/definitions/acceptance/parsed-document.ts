import { z } from 'zod';
import type { ErrorCode } from '../errors.ts';
import { fail } from '../errors.ts';

/**
 * A part of a body that the command parses itself, with codes of its own (422); the API description shows its form.
 */
export function parsedLater(schema: z.ZodType) {
  const { $schema: _, ...form } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  return z.unknown().meta(form);
}

/**
 * Parses a document by its schema.
 * @param field where it stands in the body, for the details
 * @throws Refusal `code` with the field that is wrong
 */
export function parseDocument<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  field: string,
  code: ErrorCode,
): z.output<Schema> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [first] = result.error.issues;
  fail(code, { field: [field, ...(first?.path ?? []).map(String)].join('.'), message: first?.message });
}

/** Drops the optional members that were sent as null: absent and null mean the same. */
export function withoutNulls<T extends object>(document: T): T {
  const kept = Object.entries(document).filter(([, value]) => value !== null && value !== undefined);
  return Object.fromEntries(kept) as T;
}
