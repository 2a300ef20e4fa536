import type { Json, JsonObject } from '@baton/values/wire';
import { fail } from '../../errors.ts';
import { type ElementTest, elementTest } from '../filter/element-filter.ts';
import { type Filter, parsePatchPath } from '../filter/filter-grammar.ts';
import { type Located, locate, parseAttributePath } from '../protocol/attribute-path.ts';
import { type Attribute, type ResourceKind, schemaOf } from '../protocol/attributes.ts';
import { isObject } from '../protocol/documents.ts';
import { commonAttributes } from '../protocol/schemas.ts';

/**
 * The operations of a PATCH (RFC 7644, section 3.5.2), including the forms that Okta and Entra ID actually send (see
 * docs/reference/scim.md#patch).
 */

export type Verb = 'add' | 'replace' | 'remove';

/** An operation on one attribute. An operation without a path is split into one operation per attribute. */
export interface PatchOperation {
  readonly verb: Verb;
  readonly target: Target;
  readonly value: Json | undefined;
}

/** `emails[type eq "work"].value`: the attribute, the filter over its elements, and the part of an element. */
export interface Target extends Located {
  readonly filter: Filter | undefined;
  /** Present if `filter` is present. */
  readonly meets?: ElementTest;
}

const operationsMax = 1000;
/** The limit for all operations together. A thousand paths like `members[value eq "<id>"]` have 55,000. */
const pathCharactersMax = 100_000;

/**
 * Parses the operations of a PATCH body.
 * @throws Refusal `scim_invalid_syntax`, `scim_invalid_value`, `scim_invalid_path`, `scim_no_target`,
 * `scim_mutability`; `scim_too_many` if the paths are too long in total
 */
export function parseOperations(kind: ResourceKind, body: JsonObject): PatchOperation[] {
  const sent = fieldOf(body, 'operations');
  if (!Array.isArray(sent) || sent.length === 0 || sent.length > operationsMax)
    return fail('scim_invalid_value');
  let pathCharacters = 0;
  const operations = sent.flatMap((operation) => {
    if (!isObject(operation)) return fail('scim_invalid_syntax');
    const verb = parseVerb(fieldOf(operation, 'op'));
    const path = fieldOf(operation, 'path');
    const value = fieldOf(operation, 'value');
    pathCharacters += pathCharactersOf(path, value);
    if (pathCharacters > pathCharactersMax) return fail('scim_too_many');
    if (path === undefined || path === null || path === '') return operationsWithoutPath(kind, verb, value);
    if (typeof path !== 'string') return fail('scim_invalid_path');
    return operationsOnPath(kind, verb, path, value);
  });
  return operations.length > operationsMax ? fail('scim_invalid_value') : operations;
}

/** Without a path, the keys of the value are paths. */
function pathCharactersOf(path: Json | undefined, value: Json | undefined): number {
  if (typeof path === 'string' && path !== '') return path.length;
  return isObject(value) ? Object.keys(value).reduce((sum, key) => sum + key.length, 0) : 0;
}

function parseVerb(op: Json | undefined): Verb {
  const verb = typeof op === 'string' ? op.toLowerCase() : '';
  return verb === 'add' || verb === 'replace' || verb === 'remove' ? verb : fail('scim_invalid_syntax');
}

/** A field of the message; its name can be in any case. */
function fieldOf(object: JsonObject, name: string): Json | undefined {
  return Object.entries(object).find(([key]) => key.toLowerCase() === name)?.[1];
}

/** The value is an object: each of its keys is the name of an attribute, a path, or the URN of an extension. */
function operationsWithoutPath(kind: ResourceKind, verb: Verb, value: Json | undefined): PatchOperation[] {
  if (verb === 'remove') return fail('scim_no_target');
  if (!isObject(value)) return fail('scim_invalid_value');
  return Object.entries(value).flatMap(([key, item]) => {
    if (schemaOf(kind, key) !== undefined) return operationsOnSchema(kind, verb, key, item);
    if (/[.[:]/.test(key))
      return isKnownPath(kind, key) ? operationsOnPath(kind, verb, key, item) : refuseHostile(key);
    const located = locate(kind, { urn: undefined, name: key, sub: undefined });
    if (located === undefined || !isWritable(located.attribute)) return [];
    return [{ verb, target: { ...located, filter: undefined }, value: item }];
  });
}

/** An unknown attribute is ignored, unless its name could reach an object's prototype. */
function refuseHostile(key: string): [] {
  return /__proto__|constructor|prototype/i.test(key) ? fail('scim_invalid_path') : [];
}

function isKnownPath(kind: ResourceKind, key: string): boolean {
  const path = parseAttributePath(key.split('[', 1)[0] as string);
  return path !== undefined && locate(kind, path) !== undefined;
}

function operationsOnPath(
  kind: ResourceKind,
  verb: Verb,
  path: string,
  value: Json | undefined,
): PatchOperation[] {
  if (schemaOf(kind, path) !== undefined) return operationsOnSchema(kind, verb, path, value);
  const parsed = parsePatchPath(path);
  const located = locate(kind, { ...parsed.path, sub: parsed.sub ?? parsed.path.sub });
  if (located === undefined) return fail('scim_invalid_path');
  const { attribute, sub } = located;
  if (attribute.name === 'schemas' || attribute.name === 'password') return [];
  if (!isWritable(attribute) || sub?.mutability === 'readOnly') return fail('scim_mutability');
  const { filter } = parsed;
  if (filter !== undefined && !attribute.multiValued) return fail('scim_invalid_path');
  const meets = filter && elementTest(attribute, filter);
  if (verb !== 'remove' && value === undefined) return fail('scim_invalid_value');
  return [{ verb, target: { ...located, filter, ...(meets && { meets }) }, value }];
}

/** If the path is the URN of a schema, returns one operation per attribute that the value has or that is removed. */
function operationsOnSchema(
  kind: ResourceKind,
  verb: Verb,
  urn: string,
  value: Json | undefined,
): PatchOperation[] {
  const schema = schemaOf(kind, urn) ?? fail('scim_invalid_path');
  const extension = schema === kind.core ? undefined : schema;
  const items = verb === 'remove' || value === null ? undefined : value;
  if (items !== undefined && !isObject(items)) return fail('scim_invalid_value');
  if (items === undefined && extension === undefined) return fail('scim_mutability');
  return schema.attributes.flatMap((attribute): PatchOperation[] => {
    const target = { extension, attribute, sub: undefined, filter: undefined };
    if (!isWritable(attribute)) return [];
    if (items === undefined) return [{ verb: 'remove', target, value: undefined }];
    const item = fieldOf(items, attribute.name.toLowerCase());
    return item === undefined ? [] : [{ verb, target, value: item }];
  });
}

function isWritable({ mutability, name }: Attribute): boolean {
  return (
    mutability !== 'readOnly' &&
    !commonAttributes.some((common) => common.name === name && name !== 'externalId')
  );
}
