import type { Json, JsonObject } from '@baton/kernel/wire';
import { fail } from '../../errors.ts';
import {
  type Attribute,
  commonAttributes,
  enterpriseUrn,
  named,
  type ResourceKind,
  sameName,
  schemaOf,
} from './schemas.ts';

/** Elements of one list at most, the members of a group excepted. */
export const elementsMax = 1000;

/**
 * Reads what a client sends as the attributes of a kind: canonical names, the declared types, nothing unknown and
 * nothing read-only. Every object of the result is made here from names of the schemas, so no name of a client ever
 * becomes a key.
 * @throws Refusal `scim_invalid_value`
 */
export function readDocument(kind: ResourceKind, sent: JsonObject): JsonObject {
  const document: JsonObject = {};
  const writable = [...commonAttributes.filter(({ name }) => name === 'externalId'), ...kind.core.attributes];
  readInto(document, writable, sent);
  for (const [name, value] of Object.entries(sent)) {
    const extension = name.includes(':') ? schemaOf(kind, name) : undefined;
    if (extension === undefined || extension === kind.core || value === null) continue;
    if (!isObject(value)) return fail('scim_invalid_value');
    const part: JsonObject = {};
    readInto(part, extension.attributes, value);
    if (Object.keys(part).length > 0) document[extension.urn] = part;
  }
  return document;
}

function readInto(target: JsonObject, attributes: readonly Attribute[], sent: JsonObject): void {
  for (const [name, value] of Object.entries(sent)) {
    const attribute = named(attributes, name);
    if (attribute === undefined || attribute.mutability === 'readOnly') continue;
    const read = readAttribute(attribute, value);
    if (read !== undefined) target[attribute.name] = read;
  }
}

/** One value as the schema has it; undefined for one that is absent or empty. @throws Refusal `scim_invalid_value` */
export function readAttribute(attribute: Attribute, value: Json): Json | undefined {
  if (attribute.mutability === 'writeOnly') return undefined;
  if (value === null) return undefined;
  if (!attribute.multiValued) return readValue(attribute, value);
  const elements = (Array.isArray(value) ? value : [value]).flatMap((element) => {
    const read = readElement(attribute, element);
    return read === undefined ? [] : [read];
  });
  if (elements.length > elementsMax && attribute.name !== 'members') return fail('scim_invalid_value');
  if (elements.filter(isPrimary).length > 1) return fail('scim_invalid_value');
  return elements.length === 0 ? undefined : elements;
}

/** One element of a list. A bare value stands for its `value`. */
export function readElement(attribute: Attribute, element: Json): JsonObject | undefined {
  if (element === null) return undefined;
  const whole = isObject(element) ? element : { value: element };
  const read = readValue({ ...attribute, multiValued: false }, whole);
  return read as JsonObject | undefined;
}

function readValue(attribute: Attribute, value: Json): Json | undefined {
  if (attribute.type === 'complex') return readComplex(attribute, value);
  if (attribute.type === 'boolean') return readBoolean(value);
  if (typeof value !== 'string') return fail('scim_invalid_value');
  return value;
}

function readComplex(attribute: Attribute, value: Json): JsonObject | undefined {
  const subAttributes = attribute.subAttributes ?? [];
  // A manager comes as an object, as its id alone, or as a list with one of them.
  const single = Array.isArray(value) && value.length <= 1 ? (value[0] ?? null) : value;
  if (single === null || single === '') return undefined;
  const hasValue = named(subAttributes, 'value') !== undefined;
  const whole = typeof single === 'string' && hasValue ? { value: single } : single;
  if (!isObject(whole)) return fail('scim_invalid_value');
  const read: JsonObject = {};
  readInto(read, subAttributes, whole);
  return Object.keys(read).length === 0 ? undefined : read;
}

function readBoolean(value: Json): boolean {
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

/** The attributes that an answer shows; `undefined` names everything. */
export interface Selection {
  readonly only: readonly string[] | undefined;
  readonly without: readonly string[];
}

/** What a resource looks like with only the attributes that were asked for. `id` and `schemas` always stay. */
export function selectAttributes(kind: ResourceKind, resource: JsonObject, selection: Selection): JsonObject {
  const { only, without } = selection;
  if (only === undefined && without.length === 0) return resource;
  const chosen: JsonObject = {};
  for (const [name, value] of Object.entries(resource)) {
    const always = name === 'id' || name === 'schemas';
    if (name === enterpriseUrn && isObject(value)) {
      const part = selectExtension(value, name, selection);
      if (Object.keys(part).length > 0) chosen[name] = part;
      continue;
    }
    const kept = always ? value : narrowed(name, value, kind.core.urn, selection);
    if (kept !== undefined) chosen[name] = kept;
  }
  return chosen;
}

/** Whether an answer shows an attribute of the core at all: what it does not show need not be read. */
export function isSelected(kind: ResourceKind, name: string, selection: Selection): boolean {
  return (
    narrowed(name, true, kind.core.urn, {
      ...selection,
      only: selection.only?.map((path) => topOf(path, kind.core.urn)),
    }) !== undefined
  );
}

function topOf(path: string, urn: string): string {
  return withoutUrn(path, urn).split('.')[0] as string;
}

function selectExtension(part: JsonObject, urn: string, selection: Selection): JsonObject {
  const kept: JsonObject = {};
  if (selection.without.some((path) => sameName(path, urn))) return kept;
  const isWhole = selection.only?.some((path) => sameName(path, urn)) === true;
  const prefixed = (paths: readonly string[]) =>
    paths
      .filter((path) => path.toLowerCase().startsWith(`${urn.toLowerCase()}:`))
      .map((path) => path.slice(urn.length + 1));
  const inside: Selection = {
    only: selection.only === undefined || isWhole ? undefined : prefixed(selection.only),
    without: prefixed(selection.without),
  };
  for (const [name, value] of Object.entries(part)) {
    const shown = narrowed(name, value, urn, inside);
    if (shown !== undefined) kept[name] = shown;
  }
  return kept;
}

function narrowed(name: string, value: Json, urn: string, { only, without }: Selection): Json | undefined {
  const excluded = without.map((path) => withoutUrn(path, urn));
  if (excluded.some((path) => sameName(path, name))) return undefined;
  const subsOf = (paths: readonly string[]) =>
    paths
      .filter((path) => path.toLowerCase().startsWith(`${name.toLowerCase()}.`))
      .map((path) => path.slice(name.length + 1).toLowerCase());
  const hidden = subsOf(excluded);
  const kept = withoutSubs(value, (sub) => !hidden.includes(sub));
  if (only === undefined) return kept;
  const included = only.map((path) => withoutUrn(path, urn));
  if (included.some((path) => sameName(path, name))) return kept;
  const shown = subsOf(included);
  return shown.length === 0 ? undefined : withoutSubs(kept, (sub) => shown.includes(sub));
}

function withoutSubs(value: Json, keeps: (sub: string) => boolean): Json {
  if (Array.isArray(value)) return value.map((element) => withoutSubs(element, keeps));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).filter(([sub]) => keeps(sub.toLowerCase())));
}

function withoutUrn(path: string, urn: string): string {
  return path.toLowerCase().startsWith(`${urn.toLowerCase()}:`) ? path.slice(urn.length + 1) : path;
}
