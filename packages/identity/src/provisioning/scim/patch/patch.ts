import type { Json, JsonObject } from '@baton/values/wire';
import type { Attribute } from '../protocol/attributes.ts';
import { isObject, parseAttribute } from '../protocol/documents.ts';
import type { PatchOperation, Verb } from './operations.ts';
import { patchList } from './patch-list.ts';
import { PatchWork } from './patch-work.ts';

/**
 * The document after the operations were applied in order. The given document is not changed.
 * @throws Refusal `scim_invalid_value`, `scim_invalid_path`, `scim_no_target`; `scim_too_many` for operations that
 * together exceed the comparisons allowed per PATCH
 */
export function patchDocument(document: JsonObject, operations: readonly PatchOperation[]): JsonObject {
  const patched = { ...document };
  const work = new PatchWork();
  for (const operation of operations) {
    const { extension } = operation.target;
    if (extension === undefined) {
      patchAttribute(patched, operation, work);
      continue;
    }
    const part = { ...objectOf(patched[extension.urn]) };
    patchAttribute(part, operation, work);
    if (Object.keys(part).length > 0) patched[extension.urn] = part;
    else delete patched[extension.urn];
  }
  return patched;
}

/** @param owner the document, or its part that belongs to an extension */
function patchAttribute(owner: JsonObject, { verb, target, value }: PatchOperation, work: PatchWork): void {
  const { attribute, sub } = target;
  if (attribute.multiValued) return patchList(owner, verb, target, value, work);
  if (sub !== undefined) return patchSubAttribute(owner, verb, attribute, sub, value);
  const parsed = verb === 'remove' ? undefined : parseAttribute(attribute, value ?? null);
  if (parsed === undefined) {
    // An addition never removes anything, so an empty value has no effect.
    if (verb !== 'add') delete owner[attribute.name];
  } else if (attribute.type === 'complex')
    owner[attribute.name] = { ...objectOf(owner[attribute.name]), ...objectOf(parsed) };
  else owner[attribute.name] = parsed;
}

function patchSubAttribute(
  owner: JsonObject,
  verb: Verb,
  attribute: Attribute,
  sub: Attribute,
  value: Json | undefined,
): void {
  const part = { ...objectOf(owner[attribute.name]) };
  const parsed = verb === 'remove' ? undefined : parseAttribute(sub, value ?? null);
  if (parsed === undefined && verb === 'add') return;
  if (parsed === undefined) delete part[sub.name];
  else part[sub.name] = parsed;
  if (Object.keys(part).length === 0) delete owner[attribute.name];
  else owner[attribute.name] = part;
}

function objectOf(value: Json | undefined): JsonObject {
  return isObject(value) ? value : {};
}
