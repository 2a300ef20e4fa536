import { createHash } from 'node:crypto';
import { canonicalJson } from '@baton/values/canonical-json';
import { nodesOf } from '@baton/values/json';
import type { Json } from '@baton/values/wire';
import { fail } from '../errors.ts';

/**
 * Returns the hash of a document in canonical form: compact JSON, sorted keys, strings in normal form C, UTF-8. Every
 * holder of the document computes the same hash, so fractions, which programs serialize differently, are refused
 * by default; if allowed, they are serialized as in JavaScript. See docs/reference/runs.md#manifest.
 * @param document at most as deep as documents may be (`checkDocument`)
 * @returns `sha256:<hex>`
 * @throws Refusal `non_canonical_value` with the path of a number that isn't an integer
 */
export function canonicalHash(
  document: Json,
  { fractions = 'refused' }: { fractions?: 'refused' | 'allowed' } = {},
): string {
  for (const { value, path } of nodesOf(document))
    if (fractions === 'refused' && typeof value === 'number' && !Number.isSafeInteger(value))
      fail('non_canonical_value', { path: path.slice(0, 200).toWellFormed() });
  // Sorted again, because normalization may change the order of keys.
  const text = canonicalJson(JSON.parse(canonicalJson(document).normalize('NFC')));
  return `sha256:${createHash('sha256').update(text, 'utf8').digest('hex')}`;
}
