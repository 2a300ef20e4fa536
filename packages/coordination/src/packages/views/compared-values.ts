import { type FieldType, type StoredValue, storedValue } from './field-values.ts';
import type { Field } from './source-fields.sql.ts';
import type { Filter, Parameter } from './view-spec.ts';

/** The type of the values with which a parameter is compared. */
export function typeOf({ type }: Parameter): FieldType {
  return type === 'workspace' ? 'id' : type;
}

/**
 * The values that a filter compares a field with, as stored; null if no row can match.
 * @returns undefined for values that the operator or the type of the field doesn't accept
 */
export function comparedValues(
  field: Field,
  op: Filter['op'],
  sent: unknown,
): readonly StoredValue[] | null | undefined {
  if (sent === null) return op === 'eq' ? null : undefined;
  if (Array.isArray(sent) !== (op === 'in')) return undefined;
  const values = (Array.isArray(sent) ? sent : [sent]).map((one) => {
    const value = storedValue(field.type, one);
    // A word that isn't in the field's vocabulary matches no row.
    return value !== undefined && field.words !== undefined ? field.words.indexOf(value as string) : value;
  });
  return values.includes(undefined) ? undefined : ([...new Set(values)] as StoredValue[]);
}
