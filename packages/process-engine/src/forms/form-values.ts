import type { SchemaFault } from '@baton/values/json-schema/evaluation';
import { prepareSchema } from '@baton/values/json-schema/schema';
import { SchemaDefect } from '@baton/values/json-schema/schema-tree';
import type { JsonObject } from '@baton/values/wire';

/**
 * The custom fields of a task that are the result of its step: those that the form lists, or all of them if it lists
 * none. The completion validates the same fields that the process then reads.
 */
export function valuesForForm(form: JsonObject | null | undefined, customFields: JsonObject): JsonObject {
  const properties = form?.['properties'];
  if (typeof properties !== 'object' || properties === null) return customFields;
  const named = Object.keys(properties).filter((name) => Object.hasOwn(customFields, name));
  return Object.fromEntries(named.map((name) => [name, customFields[name] ?? null]));
}

/** The faults in a result according to a form, at most 20; empty if it matches. */
export function faultsOfForm(form: JsonObject | null | undefined, values: JsonObject): SchemaFault[] {
  if (form == null) return [];
  try {
    return prepareSchema(form).faultsOf(values);
  } catch (error) {
    // Published forms are valid, but a task that was created before the upgrade may have any document as its form.
    if (error instanceof SchemaDefect) return [];
    throw error;
  }
}
