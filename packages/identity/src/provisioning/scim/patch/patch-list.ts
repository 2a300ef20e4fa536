import { isDeepStrictEqual } from 'node:util';
import type { Json, JsonObject } from '@baton/kernel/wire';
import { fail } from '../../errors.ts';
import { equalities, matchesElement } from '../filter/element-filter.ts';
import type { Filter } from '../filter/filter-grammar.ts';
import type { Attribute } from '../protocol/attributes.ts';
import { elementsMax, isPrimary, parseAttribute, parseElement } from '../protocol/documents.ts';
import type { Target, Verb } from './operations.ts';

/** The elements of a list, and which of them an operation is about: those that its filter matches, else all. */
interface List {
  readonly attribute: Attribute;
  readonly elements: readonly JsonObject[];
  readonly filter: Filter | undefined;
  isTarget(element: JsonObject): boolean;
}

/**
 * Applies an operation to a list, in place.
 * @param owner the document, or its part that belongs to an extension
 * @throws Refusal `scim_invalid_value`, also for more than 1000 elements; `scim_invalid_path`, `scim_no_target`
 */
export function patchList(owner: JsonObject, verb: Verb, target: Target, value: Json | undefined): void {
  const { attribute, filter } = target;
  const before = (owner[attribute.name] ?? []) as JsonObject[];
  const isTarget = (element: JsonObject) =>
    filter === undefined || matchesElement(attribute, filter, element);
  const after = changedElements({ attribute, elements: before, filter, isTarget }, verb, target.sub, value);
  if (after.length > elementsMax) fail('scim_invalid_value');
  const kept = keepOnePrimary(before, after).filter((element) => Object.keys(element).length > 0);
  if (kept.length === 0) delete owner[attribute.name];
  else owner[attribute.name] = kept;
}

function changedElements(
  list: List,
  verb: Verb,
  sub: Attribute | undefined,
  value: Json | undefined,
): JsonObject[] {
  if (verb === 'remove') return sub === undefined ? withoutElements(list, value) : withoutPart(list, sub);
  if (sub !== undefined) return withPart(list, sub, value ?? null);
  if (list.filter !== undefined) return withMerged(list, list.filter, value ?? null);
  return withAdded(list.attribute, verb === 'add' ? list.elements : [], value ?? null);
}

/** Removes targets; if the operation has a value, only those that contain one of its elements. */
function withoutElements({ attribute, elements, isTarget }: List, value: Json | undefined): JsonObject[] {
  const named =
    value === undefined || value === null
      ? undefined
      : ((parseAttribute(attribute, value) ?? []) as JsonObject[]);
  return elements.filter(
    (element) => !(isTarget(element) && (named?.some((one) => isPartOf(one, element)) ?? true)),
  );
}

function isPartOf(part: JsonObject, whole: JsonObject): boolean {
  return Object.entries(part).every(([name, value]) => isDeepStrictEqual(whole[name], value));
}

/** Removes one part of every target. */
function withoutPart({ elements, isTarget }: List, sub: Attribute): JsonObject[] {
  return elements.map((element) => {
    if (!isTarget(element)) return element;
    const { [sub.name]: _, ...rest } = element;
    return rest;
  });
}

/** Sets one part of every target; without a target, of a new element. */
function withPart(list: List, sub: Attribute, value: Json): JsonObject[] {
  const { attribute, elements, filter, isTarget } = list;
  const parsed = parseAttribute(sub, value);
  if (parsed === undefined) return withoutPart(list, sub);
  if (!elements.some(isTarget))
    return [...elements, { ...newElement(attribute, filter), [sub.name]: parsed }];
  return elements.map((element) => (isTarget(element) ? { ...element, [sub.name]: parsed } : element));
}

/** Merges an element into every target; without a target, into a new element. */
function withMerged({ attribute, elements, isTarget }: List, filter: Filter, value: Json): JsonObject[] {
  const single = Array.isArray(value) && value.length === 1 ? (value[0] as Json) : value;
  const parsed = parseElement(attribute, single);
  if (parsed === undefined) return elements.filter((element) => !isTarget(element));
  if (!elements.some(isTarget)) return [...elements, { ...newElement(attribute, filter), ...parsed }];
  return elements.map((element) => (isTarget(element) ? { ...element, ...parsed } : element));
}

/**
 * The element that a filter without a match asks for: `[type eq "work"]` makes one of that type.
 * @throws Refusal `scim_no_target` for a filter that is more than `eq`s joined by `and`
 */
function newElement(attribute: Attribute, filter: Filter | undefined): JsonObject {
  if (filter === undefined) return {};
  const wanted = equalities(attribute, filter) ?? fail('scim_no_target');
  const element: JsonObject = {};
  for (const [leaf, value] of wanted) element[leaf.name] = parseAttribute(leaf, value) ?? null;
  return matchesElement(attribute, filter, element) ? element : fail('scim_no_target');
}

/** Adds the elements that are not in the list yet. */
function withAdded(attribute: Attribute, elements: readonly JsonObject[], value: Json): JsonObject[] {
  const added = (parseAttribute(attribute, value) ?? []) as JsonObject[];
  const isNew = (element: JsonObject) => !elements.some((one) => isDeepStrictEqual(one, element));
  return [...elements, ...added.filter(isNew)];
}

/** If several elements are primary, only the one that became so last stays primary. */
function keepOnePrimary(before: readonly JsonObject[], after: JsonObject[]): JsonObject[] {
  const primaries = after.filter(isPrimary);
  if (primaries.length <= 1) return after;
  const changed = primaries.filter((element) => !before.includes(element));
  const chosen = changed.at(-1) ?? primaries.at(-1);
  return after.map((element) =>
    element !== chosen && isPrimary(element) ? { ...element, primary: false } : element,
  );
}
