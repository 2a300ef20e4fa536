import type { Json } from '@baton/values/wire';

/** Limits for a response from the memory service, in addition to its size in bytes. */
const depthMax = 64;
const nodesMax = 200_000;

/**
 * Whether a response from the memory service can be returned and stored: within the limits of depth and width, with
 * strings that PostgreSQL can store, and without a namespace of another tenant. Nothing else about it is trusted.
 * @param isForeign whether a string names a namespace of another tenant
 */
export function isUsableResponse(answer: unknown, isForeign: (namespace: string) => boolean): boolean {
  let nodes = 0;
  let level: Json[] = [answer as Json];
  for (let depth = 0; level.length > 0; depth += 1) {
    nodes += level.length;
    if (depth > depthMax || nodes > nodesMax) return false;
    const next: Json[] = [];
    for (const value of level) {
      if (typeof value === 'string' && !isStorable(value)) return false;
      if (typeof value !== 'object' || value === null) continue;
      if (!Array.isArray(value) && !isFitObject(value, isForeign)) return false;
      for (const item of Object.values(value)) next.push(item);
    }
    level = next;
  }
  return true;
}

function isFitObject(object: { [name: string]: Json }, isForeign: (namespace: string) => boolean): boolean {
  for (const key of Object.keys(object)) if (!isStorable(key)) return false;
  const named = [object['namespace'], object['namespaces']].flat();
  return !named.some((name) => typeof name === 'string' && isForeign(name));
}

function isStorable(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed();
}
