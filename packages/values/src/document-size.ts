import type { Json } from './wire.ts';

export interface DocumentSize {
  readonly bytes: number;
  readonly depth: number;
  readonly nodes: number;
}

/** The size of a document, measured level by level. Its bytes are those of compact JSON in UTF-8. */
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

/**
 * The bytes of a scalar; for an object or a list, those of its brackets, commas, keys and colons, without the values
 * inside.
 */
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
