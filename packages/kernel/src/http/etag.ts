import { Refusal } from './refusal.ts';

/** The ETag of an object's version: `"task-3"`. */
export function entityTag(entity: string, version: number): string {
  return `"${entity}-${version}"`;
}

/**
 * The version in If-Match. Accepts `"task-3"`, `task-3` and `W/"task-3"` (see
 * docs/reference/README.md#optimistic-locking).
 * @throws Refusal `if_match_required` for a missing or blank header, `invalid_if_match` for another format or entity
 */
export function parseIfMatch(entity: string, header: string | undefined): number {
  const value = header?.trim() ?? '';
  if (value === '') throw new Refusal('if_match_required');
  const bare = value.replace(/^W\//, '').replace(/^"(.*)"$/, '$1');
  const version = bare.startsWith(`${entity}-`) ? bare.slice(entity.length + 1) : '';
  if (!/^\d{1,15}$/.test(version)) throw new Refusal('invalid_if_match', { ifMatch: value.slice(0, 200) });
  return Number(version);
}

/**
 * Whether an If-None-Match, or an If-Match that accepts lists, matches this tag or any tag. Weak and strong tags are
 * equal.
 */
export function namesTag(header: string | string[] | undefined, tag: string): boolean {
  const bare = (one: string) => one.trim().replace(/^W\//, '');
  const named = [header ?? []].flat().flatMap((line) => line.split(',').map(bare));
  return named.includes('*') || named.includes(bare(tag));
}
