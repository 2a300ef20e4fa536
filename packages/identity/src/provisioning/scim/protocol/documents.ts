import type { Json, JsonObject } from '@baton/kernel/wire';
import { fail } from '../../errors.ts';
import { type Attribute, attributeNamed, type ResourceKind, schemaOf } from './attributes.ts';
import { mergeDuplicates } from './duplicates.ts';
import { commonAttributes } from './schemas.ts';

/** The limit for one list, except for the members of a group. */
export const elementsMax = 1000;

/**
 * Parses the body of a resource: its attributes by their canonical names and in their declared types, without unknown
 * and read-only ones. All keys of the result are names of the schemas: none comes from the client.
 * @throws Refusal `scim_invalid_value`
 */
export function parseDocument(kind: ResourceKind, sent: JsonObject): JsonObject {
  const document: JsonObject = {};
  const writable = [...commonAttributes.filter(({ name }) => name === 'externalId'), ...kind.core.attributes];
  parseInto(document, writable, sent);
  for (const [name, value] of Object.entries(sent)) {
    const extension = name.includes(':') ? schemaOf(kind, name) : undefined;
    if (extension === undefined || extension === kind.core || value === null) continue;
    if (!isObject(value)) return fail('scim_invalid_value');
    const part: JsonObject = {};
    parseInto(part, extension.attributes, value);
    if (Object.keys(part).length > 0) document[extension.urn] = part;
  }
  return document;
}

function parseInto(target: JsonObject, attributes: readonly Attribute[], sent: JsonObject): void {
  for (const [name, value] of Object.entries(sent)) {
    const attribute = attributeNamed(attributes, name);
    if (attribute === undefined || attribute.mutability === 'readOnly') continue;
    const read = parseAttribute(attribute, value);
    if (read !== undefined) target[attribute.name] = read;
  }
}

/** The value of one attribute; undefined if it is absent or empty. @throws Refusal `scim_invalid_value` */
export function parseAttribute(attribute: Attribute, value: Json): Json | undefined {
  if (attribute.mutability === 'writeOnly') return undefined;
  if (value === null) return undefined;
  if (!attribute.multiValued) return parseValue(attribute, value);
  const elements = (Array.isArray(value) ? value : [value]).flatMap((element) => {
    const read = parseElement(attribute, element);
    return read === undefined ? [] : [read];
  });
  if (elements.length > elementsMax && attribute.name !== 'members') return fail('scim_invalid_value');
  const merged = attribute.name === 'members' ? elements : mergeDuplicates(attribute, elements);
  if (merged.filter(isPrimary).length > 1) return fail('scim_invalid_value');
  return merged.length === 0 ? undefined : merged;
}

/** One element of a list. A value that is no object stands for its `value`. @throws Refusal `scim_invalid_value` */
export function parseElement(attribute: Attribute, element: Json): JsonObject | undefined {
  if (element === null) return undefined;
  const whole = isObject(element) ? element : { value: element };
  const read = parseValue({ ...attribute, multiValued: false }, whole);
  return read as JsonObject | undefined;
}

function parseValue(attribute: Attribute, value: Json): Json | undefined {
  if (attribute.type === 'complex') return parseComplex(attribute, value);
  if (attribute.type === 'boolean') return parseBoolean(value);
  if (typeof value !== 'string') return fail('scim_invalid_value');
  return value;
}

function parseComplex(attribute: Attribute, value: Json): JsonObject | undefined {
  const subAttributes = attribute.subAttributes ?? [];
  // A manager comes as an object, as its id alone, or as a list with one of them.
  const single = Array.isArray(value) && value.length <= 1 ? (value[0] ?? null) : value;
  if (single === null || single === '') return undefined;
  const hasValue = attributeNamed(subAttributes, 'value') !== undefined;
  const whole = typeof single === 'string' && hasValue ? { value: single } : single;
  if (!isObject(whole)) return fail('scim_invalid_value');
  const read: JsonObject = {};
  parseInto(read, subAttributes, whole);
  return Object.keys(read).length === 0 ? undefined : read;
}

function parseBoolean(value: Json): boolean {
  if (typeof value === 'boolean') return value;
  const word = typeof value === 'string' ? value.toLowerCase() : '';
  return word === 'true' || word === 'false' ? word === 'true' : fail('scim_invalid_value');
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function isPrimary(element: Json): boolean {
  return isObject(element) && element['primary'] === true;
}

/** @throws Refusal `scim_invalid_value` for an absent, empty or longer text */
export function requiredText(value: Json | undefined, charactersMax: number): string {
  return optionalText(value, charactersMax) ?? fail('scim_invalid_value');
}

/** An empty text counts as an absent one. @throws Refusal `scim_invalid_value` for a longer text */
export function optionalText(value: Json | undefined, charactersMax: number): string | null {
  if (typeof value !== 'string' || value === '') return null;
  return [...value].length > charactersMax ? fail('scim_invalid_value') : value;
}
