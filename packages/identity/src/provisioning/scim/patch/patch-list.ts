import type { Json, JsonObject } from '@baton/values/wire';
import { fail } from '../../errors.ts';
import { elementTest, equalities } from '../filter/element-filter.ts';
import type { Filter } from '../filter/filter-grammar.ts';
import type { Attribute } from '../protocol/attributes.ts';
import { elementsMax, isPrimary, parseAttribute, parseElement } from '../protocol/documents.ts';
import { mergeDuplicates } from '../protocol/duplicates.ts';
import type { Target, Verb } from './operations.ts';
import type { PatchWork } from './patch-work.ts';

/** The elements of a list, and those that an operation targets: the elements that its filter matches, or all. */
interface List {
  readonly attribute: Attribute;
  readonly elements: readonly JsonObject[];
  readonly filter: Filter | undefined;
  readonly work: PatchWork;
  isTarget(element: JsonObject): boolean;
}

/** The cost of copying an element in a list, and of searching for the primary element and for equal ones. */
const stepsPerCopy = 4;

/**
 * Applies an operation to a list, in place.
 * @param owner the document, or its part that belongs to an extension
 * @throws Refusal `scim_invalid_value`, also for more than 1000 elements; `scim_invalid_path`, `scim_no_target`,
 * `scim_too_many`
 */
export function patchList(
  owner: JsonObject,
  verb: Verb,
  target: Target,
  value: Json | undefined,
  work: PatchWork,
): void {
  const { attribute, filter, meets } = target;
  const elements = (owner[attribute.name] ?? []) as JsonObject[];
  work.spend(elements.length * stepsPerCopy);
  const spend = (steps: number, characters: number) => work.spend(steps, characters);
  const targets = new Set(meets && elements.filter((element) => meets(element, spend)));
  const isTarget = (element: JsonObject) => meets === undefined || targets.has(element);
  const after = changedElements({ attribute, elements, filter, work, isTarget }, verb, target.sub, value);
  const full = after.filter((element) => Object.keys(element).length > 0);
  const kept = keepOnePrimary(elements, mergeDuplicates(attribute, full));
  if (kept.length > elementsMax) fail('scim_invalid_value');
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
  if (sub !== undefined) return withPart(list, verb, sub, value ?? null);
  if (list.filter !== undefined) return withMerged(list, verb, value ?? null);
  const added = (parseAttribute(list.attribute, value ?? null) ?? []) as JsonObject[];
  return verb === 'add' ? [...list.elements, ...added] : added;
}

/**
 * Removes the targets. If the operation has a value, removes only the targets that contain one of the value's elements.
 */
function withoutElements(
  { attribute, elements, work, isTarget }: List,
  value: Json | undefined,
): JsonObject[] {
  if (value === undefined || value === null) return elements.filter((element) => !isTarget(element));
  const named = (parseAttribute(attribute, value) ?? []) as JsonObject[];
  const byValue = Map.groupBy(named, ({ value: id }) => id);
  const isNamed = (element: JsonObject) =>
    [element['value'], undefined].some((id) =>
      byValue.get(id)?.some((one) => {
        work.spend(1);
        return isPartOf(one, element);
      }),
    );
  return elements.filter((element) => !(isTarget(element) && isNamed(element)));
}

/** The parts of an element are strings and booleans. */
function isPartOf(part: JsonObject, whole: JsonObject): boolean {
  return Object.entries(part).every(([name, value]) => whole[name] === value);
}

/** Removes one part of every target. */
function withoutPart({ elements, isTarget }: List, sub: Attribute): JsonObject[] {
  return elements.map((element) => {
    if (!isTarget(element)) return element;
    const { [sub.name]: _, ...rest } = element;
    return rest;
  });
}

/** Sets one part of every target, or of a new element if there is no target. An addition removes nothing. */
function withPart(list: List, verb: Verb, sub: Attribute, value: Json): JsonObject[] {
  const { attribute, elements, filter, isTarget } = list;
  const parsed = parseAttribute(sub, value);
  if (parsed === undefined) return verb === 'add' ? [...elements] : withoutPart(list, sub);
  if (!elements.some(isTarget))
    return [...elements, { ...newElement(attribute, filter), [sub.name]: parsed }];
  return elements.map((element) => (isTarget(element) ? { ...element, [sub.name]: parsed } : element));
}

/** Merges an element into every target. @throws Refusal `scim_no_target` if there is none */
function withMerged({ attribute, elements, isTarget }: List, verb: Verb, value: Json): JsonObject[] {
  if (!elements.some(isTarget)) return fail('scim_no_target');
  const single = Array.isArray(value) && value.length === 1 ? (value[0] as Json) : value;
  const parsed = parseElement(attribute, single);
  if (parsed === undefined)
    return verb === 'add' ? [...elements] : elements.filter((element) => !isTarget(element));
  return elements.map((element) => (isTarget(element) ? { ...element, ...parsed } : element));
}

/**
 * The element that an unmatched filter describes: `[type eq "work"]` creates one of that type.
 * @throws Refusal `scim_no_target` for a filter that is more than `eq`s joined by `and`
 */
function newElement(attribute: Attribute, filter: Filter | undefined): JsonObject {
  if (filter === undefined) return {};
  const wanted = equalities(attribute, filter) ?? fail('scim_no_target');
  const element: JsonObject = {};
  for (const [leaf, value] of wanted) element[leaf.name] = parseAttribute(leaf, value) ?? null;
  const isMatch = elementTest(attribute, filter)(element, () => undefined);
  return isMatch ? element : fail('scim_no_target');
}

/** Keeps at most one element primary: the last of those that became primary. */
function keepOnePrimary(before: readonly JsonObject[], after: JsonObject[]): JsonObject[] {
  const primaries = after.filter(isPrimary);
  if (primaries.length <= 1) return after;
  const unchanged = new Set(before);
  const chosen = primaries.findLast((element) => !unchanged.has(element)) ?? primaries.at(-1);
  return after.map((element) =>
    element !== chosen && isPrimary(element) ? { ...element, primary: false } : element,
  );
}
