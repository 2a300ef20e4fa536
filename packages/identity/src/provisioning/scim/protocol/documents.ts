import type { Json, JsonObject } from '@baton/values/wire';
import { fail } from '../../errors.ts';
import { type Attribute, attributeNamed, type ResourceKind, schemaOf } from './attributes.ts';
import { mergeDuplicates } from './duplicates.ts';
import { commonAttributes } from './schemas.ts';

/** The limit for one list, except for the members of a group. */
export const elementsMax = 1000;
/** The limit for the JSON of all user attributes without their own column. */
const documentBytesMax = 256 * 1024;
/**
 * The maximum length of a string, by the type of its attribute; names and external ids have their own, lower limits.
 */
const charactersMax: Partial<Record<Attribute['type'], number>> = { reference: 2048, binary: 16_384 };
const otherCharactersMax = 1024;

/**
 * Parses the body of a resource: its attributes by their canonical names and in their declared types, without unknown
 * and read-only ones. All keys of the result are names from the schemas, never from the client.
 * @throws Refusal `scim_invalid_value`
 */
export function parseDocument(kind: ResourceKind, sent: JsonObject): JsonObject {
  const document: JsonObject = {};
  const writable = [...commonAttributes.filter(({ name }) => name === 'externalId'), ...kind.core.attributes];
  parseInto(document, writable, sent);
  for (const [name, value] of Object.entries(sent)) {
    const extension = name.includes(':') ? schemaOf(kind, name) : undefined;
    if (extension === undefined || extension === kind.core || value === null) continue;
    if (!isObject(value)) return refuseValue(extension.urn);
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
  // `null` is refused for `active`, because an ambiguous value must neither disable nor enable a user.
  if (value === null) return attribute.name === 'active' ? refuseValue(attribute.name) : undefined;
  if (!attribute.multiValued) return parseValue(attribute, value);
  const elements = (Array.isArray(value) ? value : [value]).flatMap((element) => {
    const read = parseElement(attribute, element);
    // Ignoring invalid members could leave an empty list, which would remove all members of the group.
    if (read === undefined && attribute.name === 'members') return refuseValue(attribute.name);
    return read === undefined ? [] : [read];
  });
  if (elements.length > elementsMax && attribute.name !== 'members') return refuseValue(attribute.name);
  const merged = attribute.name === 'members' ? elements : mergeDuplicates(attribute, elements);
  if (merged.filter(isPrimary).length > 1) return refuseValue(attribute.name);
  return merged.length === 0 ? undefined : merged;
}

/** One element of a list. A value that is not an object is its `value`. @throws Refusal `scim_invalid_value` */
export function parseElement(attribute: Attribute, element: Json): JsonObject | undefined {
  if (element === null) return undefined;
  const whole = isObject(element) ? element : { value: element };
  const read = parseValue({ ...attribute, multiValued: false }, whole);
  return read as JsonObject | undefined;
}

function parseValue(attribute: Attribute, value: Json): Json | undefined {
  if (attribute.type === 'complex') return parseComplex(attribute, value);
  if (attribute.type === 'boolean') return parseBoolean(attribute, value);
  if (typeof value !== 'string') return refuseValue(attribute.name);
  const isLong = isLongerThan(value, charactersMax[attribute.type] ?? otherCharactersMax);
  return isLong ? refuseValue(attribute.name) : value;
}

function parseComplex(attribute: Attribute, value: Json): JsonObject | undefined {
  const subAttributes = attribute.subAttributes ?? [];
  // Clients send a manager as an object, as an id alone, or as a list that contains one of these.
  const single = Array.isArray(value) && value.length <= 1 ? (value[0] ?? null) : value;
  if (single === null || single === '') return undefined;
  const hasValue = attributeNamed(subAttributes, 'value') !== undefined;
  const whole = typeof single === 'string' && hasValue ? { value: single } : single;
  if (!isObject(whole)) return refuseValue(attribute.name);
  const read: JsonObject = {};
  parseInto(read, subAttributes, whole);
  return Object.keys(read).length === 0 ? undefined : read;
}

function parseBoolean({ name }: Attribute, value: Json): boolean {
  if (typeof value === 'boolean') return value;
  const word = typeof value === 'string' ? value.toLowerCase() : '';
  return word === 'true' || word === 'false' ? word === 'true' : refuseValue(name);
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function isPrimary(element: Json): boolean {
  return isObject(element) && element['primary'] === true;
}

/**
 * @throws Refusal `scim_invalid_value` for a string that is absent, empty or too long
 */
export function requiredText(document: JsonObject, name: string, max: number): string {
  return optionalText(document, name, max) ?? refuseValue(name);
}

/** An empty string counts as absent. @throws Refusal `scim_invalid_value` for a longer string */
export function optionalText(document: JsonObject, name: string, max: number): string | null {
  const value = document[name];
  if (typeof value !== 'string' || value === '') return null;
  return isLongerThan(value, max) ? refuseValue(name) : value;
}

function isLongerThan(text: string, max: number): boolean {
  return text.length > max && Array.from(text.slice(0, 2 * max + 2)).length > max;
}

/** Refuses the value of an attribute; `name` comes from the schemas, never from a client. */
export function refuseValue(name: string): never {
  return fail('scim_invalid_value', { attribute: name });
}

/**
 * Refuses a document that has become too large. If it was too large before, it may shrink or keep its size, so that its
 * user can still be disabled.
 * @throws Refusal `scim_invalid_value`
 */
export function refuseLargeDocument(document: JsonObject, before?: JsonObject): void {
  const bytes = bytesOf(document);
  if (bytes > documentBytesMax && bytes > (before === undefined ? 0 : bytesOf(before)))
    fail('scim_invalid_value', { bytesMax: documentBytesMax });
}

function bytesOf(document: JsonObject): number {
  return Buffer.byteLength(JSON.stringify(document));
}
