import { isDeepStrictEqual } from 'node:util';
import type { Json, JsonObject } from '@baton/kernel/wire';
import { fail } from '../../errors.ts';
import { elementsMax, isObject, isPrimary, readAttribute, readElement } from './documents.ts';
import { checkElementFilter, equalities, matchesElement } from '../filter/element-filter.ts';
import { type Filter, parseAttributePath, parsePatchPath, type PatchPath } from '../filter/filter-grammar.ts';
import {
  type Attribute,
  commonAttributes,
  type Located,
  locate,
  type ResourceKind,
  schemaOf,
} from './schemas.ts';

/** PATCH over documents (RFC 7644, section 3.5.2), with what Okta and Entra ID really send (contract, section 20). */

export type Verb = 'add' | 'replace' | 'remove';

export interface PatchOperation {
  readonly verb: Verb;
  /** Absent for operations on the resource itself, which were taken apart. */
  readonly target: Target;
  readonly value: Json | undefined;
}

export interface Target extends Located {
  readonly filter: Filter | undefined;
}

const operationsMax = 1000;

/**
 * Reads the operations of a PATCH body; one without a path becomes one for each of its keys.
 * @throws Refusal `scim_invalid_syntax`, `scim_invalid_value`, `scim_invalid_path`, `scim_no_target`, `scim_mutability`
 */
export function readOperations(kind: ResourceKind, body: JsonObject): PatchOperation[] {
  const sent = entryOf(body, 'operations');
  if (!Array.isArray(sent) || sent.length === 0 || sent.length > operationsMax)
    return fail('scim_invalid_value');
  const operations = sent.flatMap((operation) => {
    if (!isObject(operation)) return fail('scim_invalid_syntax');
    const verb = readVerb(entryOf(operation, 'op'));
    const path = entryOf(operation, 'path');
    const value = entryOf(operation, 'value');
    if (path === undefined || path === null || path === '') return pathless(kind, verb, value);
    if (typeof path !== 'string') return fail('scim_invalid_path');
    return targeted(kind, verb, path, value);
  });
  return operations.length > operationsMax ? fail('scim_invalid_value') : operations;
}

/**
 * The document after the operations, in their order. The given one stays as it is.
 * @throws Refusal `scim_invalid_value`, `scim_invalid_path`, `scim_no_target`
 */
export function patchDocument(document: JsonObject, operations: readonly PatchOperation[]): JsonObject {
  const patched = structuredClone(document);
  for (const operation of operations) {
    const { extension } = operation.target;
    if (extension === undefined) {
      applyTo(patched, operation);
      continue;
    }
    const held = patched[extension.urn];
    const part = isObject(held) ? held : {};
    applyTo(part, operation);
    if (Object.keys(part).length > 0) patched[extension.urn] = part;
    else delete patched[extension.urn];
  }
  return patched;
}

function readVerb(op: Json | undefined): Verb {
  const verb = typeof op === 'string' ? op.toLowerCase() : '';
  return verb === 'add' || verb === 'replace' || verb === 'remove' ? verb : fail('scim_invalid_syntax');
}

/** Names of the message itself come in any case too. */
function entryOf(object: JsonObject, name: string): Json | undefined {
  return Object.entries(object).find(([key]) => key.toLowerCase() === name)?.[1];
}

function pathless(kind: ResourceKind, verb: Verb, value: Json | undefined): PatchOperation[] {
  if (verb === 'remove') return fail('scim_no_target');
  if (!isObject(value)) return fail('scim_invalid_value');
  return Object.entries(value).flatMap(([key, item]) => {
    const extension = schemaOf(kind, key);
    if (extension !== undefined) return ofExtension(kind, verb, key, item);
    if (/[.[:]/.test(key)) return isKnown(kind, key) ? targeted(kind, verb, key, item) : refuseHostile(key);
    const located = locate(kind, { urn: undefined, name: key, sub: undefined });
    if (located === undefined || !isWritable(located.attribute)) return [];
    return [{ verb, target: { ...located, filter: undefined }, value: item }];
  });
}

/** A key that looks like a path and names nothing is ignored like any unknown attribute, unless it aims elsewhere. */
function refuseHostile(key: string): [] {
  return /__proto__|constructor|prototype/i.test(key) ? fail('scim_invalid_path') : [];
}

function isKnown(kind: ResourceKind, key: string): boolean {
  const path = parseAttributePath(key.split('[', 1)[0] as string);
  return path !== undefined && locate(kind, path) !== undefined;
}

function targeted(kind: ResourceKind, verb: Verb, path: string, value: Json | undefined): PatchOperation[] {
  if (schemaOf(kind, path) !== undefined) return ofExtension(kind, verb, path, value);
  const parsed: PatchPath = parsePatchPath(path);
  const located = locate(kind, { ...parsed.path, sub: parsed.sub ?? parsed.path.sub });
  if (located === undefined) return fail('scim_invalid_path');
  const { attribute, sub } = located;
  if (attribute.name === 'schemas' || attribute.name === 'password') return [];
  if (!isWritable(attribute) || sub?.mutability === 'readOnly') return fail('scim_mutability');
  if (parsed.filter !== undefined) {
    if (!attribute.multiValued) return fail('scim_invalid_path');
    checkElementFilter(attribute, parsed.filter);
  }
  if (verb !== 'remove' && value === undefined) return fail('scim_invalid_value');
  return [{ verb, target: { ...located, filter: parsed.filter }, value }];
}

/** The whole of a schema as a path: its attributes one by one. */
function ofExtension(kind: ResourceKind, verb: Verb, urn: string, value: Json | undefined): PatchOperation[] {
  const schema = schemaOf(kind, urn) ?? fail('scim_invalid_path');
  const extension = schema === kind.core ? undefined : schema;
  const names = verb === 'remove' || value === null ? undefined : value;
  if (names !== undefined && !isObject(names)) return fail('scim_invalid_value');
  if (names === undefined && extension === undefined) return fail('scim_mutability');
  return schema.attributes.flatMap((attribute): PatchOperation[] => {
    const target = { extension, attribute, sub: undefined, filter: undefined };
    if (!isWritable(attribute)) return [];
    if (names === undefined) return [{ verb: 'remove', target, value: undefined }];
    const item = entryOf(names, attribute.name.toLowerCase());
    return item === undefined ? [] : [{ verb, target, value: item }];
  });
}

function isWritable({ mutability, name }: Attribute): boolean {
  return (
    mutability !== 'readOnly' &&
    !commonAttributes.some((common) => common.name === name && name !== 'externalId')
  );
}

function applyTo(owner: JsonObject, { verb, target, value }: PatchOperation): void {
  const { attribute } = target;
  if (attribute.multiValued) return applyToList(owner, verb, target, value);
  if (target.sub !== undefined) return applyToPart(owner, verb, attribute, target.sub, value);
  const read = verb === 'remove' ? undefined : readAttribute(attribute, value ?? null);
  if (read === undefined) delete owner[attribute.name];
  else if (attribute.type === 'complex')
    owner[attribute.name] = { ...objectOf(owner[attribute.name]), ...objectOf(read) };
  else owner[attribute.name] = read;
}

function applyToPart(
  owner: JsonObject,
  verb: Verb,
  attribute: Attribute,
  sub: Attribute,
  value: Json | undefined,
): void {
  const part = { ...objectOf(owner[attribute.name]) };
  const read = verb === 'remove' ? undefined : readAttribute(sub, value ?? null);
  if (read === undefined) delete part[sub.name];
  else part[sub.name] = read;
  if (Object.keys(part).length === 0) delete owner[attribute.name];
  else owner[attribute.name] = part;
}

function applyToList(owner: JsonObject, verb: Verb, target: Target, value: Json | undefined): void {
  const { attribute, sub, filter } = target;
  const held = (owner[attribute.name] ?? []) as JsonObject[];
  const isTouched = (element: JsonObject) =>
    filter === undefined || matchesElement(attribute, filter, element);
  let elements: JsonObject[];
  if (verb === 'remove') elements = withoutThose(attribute, held, isTouched, sub, value);
  else if (sub !== undefined) elements = withPart(attribute, held, isTouched, sub, filter, value ?? null);
  else if (filter !== undefined) elements = withMerged(attribute, held, isTouched, filter, value ?? null);
  else elements = withAdded(attribute, verb === 'add' ? held : [], value ?? null);
  if (elements.length > elementsMax) fail('scim_invalid_value');
  const kept = onePrimary(held, elements).filter((element) => Object.keys(element).length > 0);
  if (kept.length === 0) delete owner[attribute.name];
  else owner[attribute.name] = kept;
}

function withoutThose(
  attribute: Attribute,
  held: readonly JsonObject[],
  isTouched: (element: JsonObject) => boolean,
  sub: Attribute | undefined,
  value: Json | undefined,
): JsonObject[] {
  if (sub !== undefined)
    return held.map((element) => {
      if (!isTouched(element)) return element;
      const { [sub.name]: _, ...rest } = element;
      return rest;
    });
  const named =
    value === undefined || value === null
      ? undefined
      : ((readAttribute(attribute, value) ?? []) as JsonObject[]);
  return held.filter(
    (element) => !(isTouched(element) && (named?.some((one) => isPartOf(one, element)) ?? true)),
  );
}

function isPartOf(part: JsonObject, whole: JsonObject): boolean {
  return Object.entries(part).every(([name, value]) => isDeepStrictEqual(whole[name], value));
}

function withPart(
  attribute: Attribute,
  held: readonly JsonObject[],
  isTouched: (element: JsonObject) => boolean,
  sub: Attribute,
  filter: Filter | undefined,
  value: Json,
): JsonObject[] {
  const read = readAttribute(sub, value);
  if (read === undefined) return withoutThose(attribute, held, isTouched, sub, undefined);
  const changed = held.map((element) => (isTouched(element) ? { ...element, [sub.name]: read } : element));
  if (held.some(isTouched)) return changed;
  return [...held, { ...elementFor(attribute, filter), [sub.name]: read }];
}

function withMerged(
  attribute: Attribute,
  held: readonly JsonObject[],
  isTouched: (element: JsonObject) => boolean,
  filter: Filter,
  value: Json,
): JsonObject[] {
  const read = readElement(
    attribute,
    Array.isArray(value) && value.length === 1 ? (value[0] as Json) : value,
  );
  if (read === undefined) return held.filter((element) => !isTouched(element));
  if (!held.some(isTouched)) return [...held, { ...elementFor(attribute, filter), ...read }];
  return held.map((element) => (isTouched(element) ? { ...element, ...read } : element));
}

/** The element that a filter without a match asks for: `[type eq "work"]` makes one of that type. */
function elementFor(attribute: Attribute, filter: Filter | undefined): JsonObject {
  if (filter === undefined) return {};
  const wanted = equalities(attribute, filter) ?? fail('scim_no_target');
  const element: JsonObject = {};
  for (const [leaf, value] of wanted) element[leaf.name] = readAttribute(leaf, value) ?? null;
  return matchesElement(attribute, filter, element) ? element : fail('scim_no_target');
}

function withAdded(attribute: Attribute, held: readonly JsonObject[], value: Json): JsonObject[] {
  const added = (readAttribute(attribute, value) ?? []) as JsonObject[];
  const isNew = (element: JsonObject) => !held.some((one) => isDeepStrictEqual(one, element));
  return [...held, ...added.filter(isNew)];
}

/** The one that became primary last is it. */
function onePrimary(before: readonly JsonObject[], after: JsonObject[]): JsonObject[] {
  const primaries = after.filter(isPrimary);
  if (primaries.length <= 1) return after;
  const fresh = primaries.filter((element) => !before.includes(element));
  const chosen = fresh.at(-1) ?? primaries.at(-1);
  return after.map((element) =>
    element !== chosen && isPrimary(element) ? { ...element, primary: false } : element,
  );
}

function objectOf(value: Json | undefined): JsonObject {
  return isObject(value) ? value : {};
}
