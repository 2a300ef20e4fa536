import type { Json } from './wire.ts';

/**
 * Walks JSON values without recursion: a body of 1 MiB can be nested half a million levels deep, which is more than the
 * stack holds.
 */

export interface JsonNode {
  readonly value: Json;
  /** `/steps/0/name`, empty for the outermost value. */
  readonly path: string;
  /** The value's key in its object; undefined in a list and for the outermost value. */
  readonly key: string | undefined;
}

/** Every value inside `root` in document order, `root` first; a parent comes before its children. */
export function* nodesOf(root: Json): Generator<JsonNode> {
  const pending: JsonNode[] = [{ value: root, path: '', key: undefined }];
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    yield node;
    const { value, path } = node;
    if (typeof value !== 'object' || value === null) continue;
    const isNamed = !Array.isArray(value);
    for (const [key, item] of Object.entries(value).reverse())
      pending.push({ value: item, path: `${path}/${key}`, key: isNamed ? key : undefined });
  }
}
