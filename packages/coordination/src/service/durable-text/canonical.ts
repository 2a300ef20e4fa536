import { createHash } from 'node:crypto';
import { canonicalJson } from '@baton/values/canonical-json';
import { nodesOf } from '@baton/values/json';
import type { Json } from '@baton/values/wire';
import { fail } from '../errors.ts';

/**
 * The hash of a document in canonical form: compact JSON, keys sorted, texts in normal form C, UTF-8 (core, section 13).
 * Everybody who has the document gets the same hash, so it holds no fractions, which programs write in several ways, unless
 * they are allowed: then each is written as JavaScript does.
 * @param document at most as deep as documents may be (`checkDocument`)
 * @returns `sha256:<hex>`
 * @throws Refusal `non_canonical_value` with the path of a number that is no integer
 */
export function canonicalHash(
  document: Json,
  { fractions = 'refused' }: { fractions?: 'refused' | 'allowed' } = {},
): string {
  for (const { value, path } of nodesOf(document))
    if (fractions === 'refused' && typeof value === 'number' && !Number.isSafeInteger(value))
      fail('non_canonical_value', { path: path.slice(0, 200).toWellFormed() });
  // Sorted again, because another form of its letters may give a key another place.
  const text = canonicalJson(JSON.parse(canonicalJson(document).normalize('NFC')));
  return `sha256:${createHash('sha256').update(text, 'utf8').digest('hex')}`;
}
