import { type FieldType, type StoredValue, storedValue } from './field-values.ts';
import type { Field } from './source-fields.sql.ts';
import type { Filter, Parameter } from './view-spec.ts';

/** What a parameter's value is compared with. */
export function typeOf({ type }: Parameter): FieldType {
  return type === 'workspace' ? 'id' : type;
}

/**
 * The values that a filter compares a field with, as they are stored; null where it looks for none at all.
 * @returns undefined for what the operator or the type of the field does not take
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
    // A word that the field never has is found nowhere.
    return value !== undefined && field.words !== undefined ? field.words.indexOf(value as string) : value;
  });
  return values.includes(undefined) ? undefined : ([...new Set(values)] as StoredValue[]);
}
