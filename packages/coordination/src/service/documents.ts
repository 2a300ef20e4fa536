import { type DocumentSize, measureDocument } from '@baton/values/document-size';
import { nodesOf, roundedIntegerIn } from '@baton/values/json';
import { isSecretName, kindOfSecret } from '@baton/values/secret-material';
import type { Json, JsonObject } from '@baton/values/wire';
import { fail } from './errors.ts';

/**
 * The guards of free JSON documents and free text. Operations call them in this order: the document's size, then its
 * JSON Schema, then secrets. None of them recurses: a body of 1 MiB can be nested half a million levels deep, which
 * would overflow the stack. See docs/reference/README.md#documents.
 */

export const documentBytesMax = 65_536;
/** Levels of objects and lists, including the outermost. */
export const documentDepthMax = 20;
/** Values of every kind: objects, lists, strings, numbers, booleans and nulls. */
export const documentNodesMax = 5_000;

const shownPathLengthMax = 200;

export interface DocumentBounds {
  /** The field that contains the document, for the details of a refusal. */
  readonly field: string;
  /** Measured as compact JSON in UTF-8; `documentBytesMax` when absent. */
  readonly bytesMax?: number;
}

/**
 * Refuses a value that isn't an object, has an integer that was rounded when it was parsed, or is too large, too deep
 * or has too many nodes.
 * @throws Refusal `invalid_document`, `payload_too_large`, `payload_too_deep`
 */
export function checkDocument(
  value: unknown,
  { field, bytesMax = documentBytesMax }: DocumentBounds,
): asserts value is JsonObject {
  if (!isObject(value)) fail('invalid_document', { field });
  const path = roundedIntegerIn(value);
  if (path !== undefined) fail('invalid_document', { field, path: shownPath(path) });
  const size = measureDocument(value);
  for (const guard of sizeGuards) guard(size, field, bytesMax);
}

/**
 * Refuses a document that has a key named like a secret, at any depth and in any spelling (`api-key`, `API_KEY`).
 * @throws Refusal `secret_material_rejected` with the path of the key
 */
export function refuseSecretKeys(document: Json, field: string): void {
  for (const { key, path } of nodesOf(document))
    if (key !== undefined && isSecretName(key))
      fail('secret_material_rejected', { field, path: shownPath(path) });
}

/**
 * Refuses prose that contains what may be a secret. The response contains the kind of secret and never
 * repeats the text.
 * @throws Refusal `secret_material_rejected` with `match`
 */
export function refuseSecretText(text: string, field: string): void {
  const match = kindOfSecret(text);
  if (match !== undefined) fail('secret_material_rejected', { field, match });
}

type SizeGuard = (size: DocumentSize, field: string, bytesMax: number) => void;

/** In the order of docs/reference/README.md#documents: the first violation decides the response. */
const sizeGuards: readonly SizeGuard[] = [limitBytes, limitDepth, limitNodes];

function limitBytes({ bytes }: DocumentSize, field: string, bytesMax: number): void {
  if (bytes > bytesMax) fail('payload_too_large', { field, maxBytes: bytesMax, actualBytes: bytes });
}

function limitDepth({ depth }: DocumentSize, field: string): void {
  if (depth > documentDepthMax) fail('payload_too_deep', { field, maxDepth: documentDepthMax });
}

function limitNodes({ nodes }: DocumentSize, field: string): void {
  if (nodes > documentNodesMax) fail('payload_too_large', { field, maxNodes: documentNodesMax });
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A path for a response: truncated, without splitting a surrogate pair. */
function shownPath(path: string): string {
  return path.slice(0, shownPathLengthMax).toWellFormed();
}
