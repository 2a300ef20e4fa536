import type { Json, JsonObject } from '@baton/values/wire';
import { type Lookup, UnresolvedExpression, valueOfText } from './expressions.ts';

/** A field of a task, or one of its custom fields as `customFields.<name>`; null without a value. */
export function fieldOf(task: { readonly customFields: JsonObject }, path: string): Json {
  const [, field] = /^customFields\.(.+)$/.exec(path) ?? [];
  return field === undefined ? memberOf(task, path) : memberOf(task.customFields, field);
}

/** A member of an object. Only own properties are read, because a field may have the name of an inherited one. */
export function memberOf(object: object | undefined, name: string): Json {
  if (object === undefined || !Object.hasOwn(object, name)) return null;
  return ((object as Record<string, unknown>)[name] ?? null) as Json;
}

/** Whether each of these expressions has a non-empty value; 0 and false are values. */
export async function allHaveValues(expressions: readonly string[], lookup: Lookup): Promise<boolean> {
  for (const expression of expressions) {
    try {
      const value = await valueOfText(expression, lookup);
      if (value === null || value === '') return false;
      if (typeof value === 'object' && Object.keys(value).length === 0) return false;
    } catch (error) {
      if (error instanceof UnresolvedExpression) return false;
      throw error;
    }
  }
  return true;
}
