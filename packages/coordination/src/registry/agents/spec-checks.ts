import { isDeepStrictEqual } from 'node:util';
import { canonicalJson } from '@baton/values/canonical-json';
import { measureDocument } from '@baton/values/document-size';
import { nodesOf } from '@baton/values/json';
import type { Json, JsonObject } from '@baton/values/wire';
import { checkDocument, refuseSecretKeys, refuseSecretText } from '../../service/documents.ts';
import { canonicalHash } from '../../service/durable-text/canonical.ts';
import { fail } from '../errors.ts';
import { type AgentSpec, specBytesMax, textMax } from './agent-spec.ts';

/** A spec that may be stored. */
export interface CheckedSpec {
  readonly hash: string;
  readonly bytes: number;
}

/**
 * Final checks of a spec's texts and documents: first secrets, then its size, then whether its canonical form is
 * unambiguous. See docs/reference/agents.md#publish.
 * @throws Refusal `secret_material_rejected`, `payload_too_large`, `payload_too_deep`, `non_canonical_value`
 */
export function checkSpec(spec: AgentSpec): CheckedSpec {
  const document = spec as unknown as JsonObject;
  refuseSecrets(spec, document);
  refuseLongTexts(spec, document);
  checkDocument(document, { field: 'spec', bytesMax: specBytesMax });
  return { hash: canonicalHash(hashedPart(spec)), bytes: measureDocument(document).bytes };
}

/**
 * Only keys that the client chooses are checked against secret names, because the spec itself has a list called
 * `secrets`.
 */
function refuseSecrets({ executor, workingCopy }: AgentSpec, document: JsonObject): void {
  if (executor !== undefined) refuseSecretKeys(executor.params, 'spec.executor.params');
  if (workingCopy !== undefined) refuseSecretKeys(workingCopy, 'spec.workingCopy');
  for (const { value, path } of nodesOf(document))
    if (typeof value === 'string') refuseSecretText(value, fieldOf(path));
}

function refuseLongTexts({ displayName, description = '' }: AgentSpec, document: JsonObject): void {
  limit('spec.displayName', displayName, textMax.displayName);
  limit('spec.description', description, textMax.description);
  for (const { value, path } of nodesOf(document))
    if (typeof value === 'string') limit(fieldOf(path), value, textMax.any);
}

function limit(field: string, text: string, maxCharacters: number): void {
  if (text.length > maxCharacters) fail('payload_too_large', { field, maxCharacters });
}

const fieldOf = (path: string) => `spec${path.replaceAll('/', '.')}`.slice(0, 200).toWellFormed();

/** The spec without `state` and `placement.replicas`, which change without a new revision. */
function hashedPart({ state: _state, placement, ...rest }: AgentSpec): JsonObject {
  if (placement === undefined || placement === 'none') return { ...rest, placement: 'none' };
  const { replicas: _replicas, ...placed } = placement;
  return { ...rest, placement: placed };
}

/**
 * The differences between two specs, by section and field: `identity.permissions`, `displayName`. Fields that the hash
 * excludes are excluded here too.
 */
export function changedFields(before: AgentSpec, after: AgentSpec): string[] {
  const [old, young] = [hashedPart(before), hashedPart(after)];
  return [...new Set([...Object.keys(old), ...Object.keys(young)])].sort().flatMap((section) => {
    const [was, is] = [old[section], young[section]];
    if (isSame(was, is)) return [];
    if (!isObject(was) || !isObject(is)) return [section];
    const fields = [...new Set([...Object.keys(was), ...Object.keys(is)])].sort();
    return fields.filter((field) => !isSame(was[field], is[field])).map((field) => `${section}.${field}`);
  });
}

const isSame = (one: Json | undefined, other: Json | undefined) =>
  isDeepStrictEqual(one, other) || canonicalJson(one) === canonicalJson(other);

const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
