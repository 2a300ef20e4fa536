import type { Json } from './wire.ts';

/**
 * Walking JSON values without recursion: a body of one mebibyte can be nested half a million levels deep, which is more
 * than the stack holds.
 */

export interface JsonNode {
  readonly value: Json;
  /** `/steps/0/name`, empty for the outermost value. */
  readonly path: string;
  /** The name under which an object holds it; undefined in a list. */
  readonly key: string | undefined;
}

/** Every value inside `root`, itself first, each before what it holds. */
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
