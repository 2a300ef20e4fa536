import { z } from 'zod';
import { InstantInput, Uuid } from '@baton/values/wire';

/** The types of the fields that a view shows. */
export const fieldTypes = ['text', 'number', 'boolean', 'time', 'id'] as const;
export type FieldType = (typeof fieldTypes)[number];

/** A value in the format in which the store compares it. */
export type StoredValue = string | number | boolean;

const forms: Record<FieldType, z.ZodType<StoredValue>> = {
  text: z.string(),
  number: z.number(),
  boolean: z.boolean(),
  time: InstantInput,
  id: Uuid,
};

/** The PostgreSQL types for comparisons. */
export const columnTypes: Record<FieldType, string> = {
  text: 'text',
  number: 'double precision',
  boolean: 'boolean',
  time: 'timestamptz',
  id: 'uuid',
};

/** Converts a value from a request to the form used for comparisons; undefined if it is invalid. */
export function storedValue(type: FieldType, sent: unknown): StoredValue | undefined {
  const parsed = forms[type].safeParse(sent);
  return parsed.success ? parsed.data : undefined;
}
