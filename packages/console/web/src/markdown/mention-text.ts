const nameCharactersMax = 200;

/** A mention in a text, anchored at a position: `@[Ada Lovelace](0190b2c4-5a6e-7000-8000-0000000000ad)`. */
const form = /@\[([^[\]\n]{1,200})\]\(([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})\)/iy;

export interface Mention {
  readonly name: string;
  readonly id: string;
  /** The length of the mention in the text. */
  readonly length: number;
}

/** The mention that begins at a position of a text, if any. */
export function mentionAt(text: string, position: number): Mention | undefined {
  form.lastIndex = position;
  const [whole, name, id] = form.exec(text) ?? [];
  if (whole === undefined || name === undefined || id === undefined) return undefined;
  return { name, id: id.toLowerCase(), length: whole.length };
}

/** The text of a mention of a principal. Characters that would end the name are replaced. */
export function mentionOf({
  displayName,
  id,
}: {
  readonly displayName: string;
  readonly id: string;
}): string {
  const name = displayName.replaceAll(/[[\]\s]+/g, ' ').trim();
  // A character may consist of two UTF-16 code units.
  return `@[${[...name].slice(0, nameCharactersMax / 2).join('') || 'somebody'}](${id})`;
}

const queryCharactersMax = 60;

/**
 * The words between an `@` and the cursor, with which a person searches for somebody to mention.
 * @returns the position of the `@`, and the words; undefined if the cursor is elsewhere
 */
export function mentionQueryAt(
  text: string,
  cursor: number,
): { readonly start: number; readonly words: string } | undefined {
  const from = Math.max(0, cursor - queryCharactersMax);
  const [, words] =
    /(?:^|[\s([{])@((?:[\p{L}\p{M}\p{N}.'_-]+ ?){0,3})$/u.exec(text.slice(from, cursor)) ?? [];
  return words === undefined ? undefined : { start: cursor - words.length - 1, words };
}
