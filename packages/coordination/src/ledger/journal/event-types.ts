import { fail } from '../errors.ts';

const prefixesMax = 20;
const prefixForm = /^[a-z][a-z0-9_]*(\.[a-z0-9_]*)*$/;

/**
 * Parses `types=task.,run.started`, given once or more, into prefixes of event types; undefined for all.
 * @throws Refusal `invalid_event_type_filter`
 */
export function parseTypePrefixes(given: string | readonly string[] | undefined): string[] | undefined {
  if (given === undefined) return undefined;
  const prefixes = [given].flat().flatMap((text) => text.split(','));
  if (prefixes.length > prefixesMax || !prefixes.every((prefix) => prefixForm.test(prefix)))
    fail('invalid_event_type_filter', { max: prefixesMax });
  return prefixes;
}

/** Written as `like` patterns, in which an underscore matches any character unless it is escaped. */
export function typePatternsOf(prefixes: readonly string[] | undefined): string[] | null {
  return prefixes?.map((prefix) => `${prefix.replaceAll('_', '\\_')}%`) ?? null;
}
