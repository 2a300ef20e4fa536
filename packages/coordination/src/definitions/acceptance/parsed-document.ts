import { z } from 'zod';
import type { ErrorCode } from '../errors.ts';
import { fail } from '../errors.ts';

/**
 * A part of a body that the command parses and refuses with its own codes (422). The API description contains its
 * schema.
 */
export function describeOnly(schema: z.ZodType) {
  const { $schema: _, ...form } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  return z.unknown().meta(form);
}

/**
 * Parses a document by its schema.
 * @param field its position in the body, for the details
 * @throws Refusal `code` with the invalid field
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

/** Removes optional members that are null: absent and null mean the same. */
export function withoutNulls<T extends object>(document: T): T {
  const kept = Object.entries(document).filter(([, value]) => value !== null && value !== undefined);
  return Object.fromEntries(kept) as T;
}
