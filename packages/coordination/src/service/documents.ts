import { nodesOf, roundedIntegerIn } from '@baton/kernel/json';
import type { Json, JsonObject } from '@baton/kernel/wire';
import { fail } from './errors.ts';
import { isSecretName, kindOfSecret, redactSecrets } from './secret-material.ts';

/**
 * The guards on free JSON documents and free text (core, section 1.9). A verb calls them in the contract's order: the
 * document's size, then its JSON Schema, then secrets. None of them recurses: a body of 1 MiB can be nested half a
 * million levels deep, which is more than the stack holds.
 */

export const documentBytesMax = 65_536;
/** Levels of objects and lists, the outermost included. */
export const documentDepthMax = 20;
/** Values of every kind: objects, lists, texts, numbers, booleans and nulls. */
export const documentNodesMax = 5_000;

const eventTextCharactersMax = 1_000;
const shownPathLengthMax = 200;

export interface DocumentBounds {
  /** The name of the field that holds the document, for the details of a refusal. */
  readonly field: string;
  /** As compact JSON in UTF-8; `documentBytesMax` when absent. */
  readonly bytesMax?: number;
}

/**
 * Refuses what is not an object, an object with an integer that was rounded when it was parsed, and one that is too
 * large, nested too deeply, or has too many nodes.
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
 * Refuses prose that contains something shaped like a secret. The answer names its kind and never repeats it.
 * @throws Refusal `secret_material_rejected` with `match`
 */
export function refuseSecretText(text: string, field: string): void {
  const match = kindOfSecret(text);
  if (match !== undefined) fail('secret_material_rejected', { field, match });
}

/** Free text as it is copied into an event: secrets redacted, then cut to 1000 characters, the last an ellipsis. */
export function eventText(text: string): string {
  const redacted = redactSecrets(text);
  if (redacted.length <= eventTextCharactersMax) return redacted;
  // Counted in code points: a cut inside a surrogate pair could not be stored. A code point has two units at most.
  const characters = Array.from(redacted.slice(0, 2 * eventTextCharactersMax + 1));
  if (characters.length <= eventTextCharactersMax) return redacted;
  return `${characters.slice(0, eventTextCharactersMax - 1).join('')}…`;
}

interface DocumentSize {
  readonly bytes: number;
  readonly depth: number;
  readonly nodes: number;
}

type SizeGuard = (size: DocumentSize, field: string, bytesMax: number) => void;

/** In the contract's order: the first that refuses decides the answer. */
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

/** The size of a document, level by level: its bytes are those of compact JSON in UTF-8. */
export function measureDocument(document: Json): DocumentSize {
  let bytes = 0;
  let depth = 0;
  let nodes = 0;
  let level: Json[] = [document];
  for (let levelNumber = 1; level.length > 0; levelNumber += 1) {
    const nextLevel: Json[] = [];
    nodes += level.length;
    for (const value of level) {
      bytes += ownBytes(value);
      if (typeof value !== 'object' || value === null) continue;
      depth = levelNumber;
      for (const item of Object.values(value)) nextLevel.push(item);
    }
    level = nextLevel;
  }
  return { bytes, depth, nodes };
}

/** A scalar's bytes; of an object or a list the brackets, commas, keys and colons, without the values inside. */
function ownBytes(value: Json): number {
  if (typeof value !== 'object' || value === null) return jsonBytes(value);
  const keys = Object.keys(value);
  const commas = Math.max(0, keys.length - 1);
  const brackets = 2;
  if (Array.isArray(value)) return brackets + commas;
  return keys.reduce((bytes, key) => bytes + jsonBytes(key) + ':'.length, brackets + commas);
}

function jsonBytes(scalar: Json): number {
  return Buffer.byteLength(JSON.stringify(scalar));
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A path as an answer shows it: bounded, and without half a surrogate pair where it was cut. */
function shownPath(path: string): string {
  return path.slice(0, shownPathLengthMax).toWellFormed();
}
