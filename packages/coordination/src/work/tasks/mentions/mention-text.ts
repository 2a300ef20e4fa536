/** The maximum number of principals that one text mentions; any further mentions notify nobody. */
export const mentionsMax = 20;

/**
 * `@[Ada Lovelace](0190b2c4-5a6e-7000-8000-0000000000ad)`: the id identifies the principal, because names change and
 * several principals may have the same one. The name has a bound, so that a text of only `@[` is searched in linear
 * time.
 */
const form = /@\[([^[\]\n]{1,200})\]\(([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})\)/gi;

/** The ids of the principals that a text mentions, each once, in the order of the text. */
export function findMentions(text: string): string[] {
  const ids = new Set<string>();
  for (const [, , id = ''] of text.matchAll(form)) {
    ids.add(id.toLowerCase());
    if (ids.size === mentionsMax) break;
  }
  return [...ids];
}

/** The text with only the names of those it mentions, for messages that show no Markdown: `@Ada Lovelace`. */
export function withoutMentionIds(text: string): string {
  return text.replaceAll(form, '@$1');
}
