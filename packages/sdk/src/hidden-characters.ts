/** Controls except line end and tab, format characters, fillers, variation selectors, line and paragraph separators. */
const hidden = /[^\P{Cc}\t\n]|[\p{Cf}\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}]/gu;

/**
 * Characters that remain: the carriage return of a line end, one joiner after a letter of a script that needs it or
 * within an emoji, and one selector after an emoji. Several in a row, or any elsewhere, could contain a message that
 * only a program reads.
 */
const needed = new RegExp(
  [
    '\\r(?=\\n)',
    '(?<=[\\p{L}\\p{M}\\p{Extended_Pictographic}\\p{Emoji_Modifier}\\uFE0F])(?<!\\p{ASCII})[\\u200C\\u200D](?![\\u200C\\u200D])',
    '(?<=\\p{Extended_Pictographic})[\\uFE0E\\uFE0F]',
    '(?<=[0-9#*])\\uFE0F(?=\\u20E3)',
  ].join('|'),
  'gu',
);

/**
 * Replaces every invisible character of a string with its code, such as `⟨U+202E⟩`. Joiners and selectors remain where
 * Persian, Indic scripts and emoji need them.
 * @example
 * console.log(revealHidden('ACME\u202Edtl')); // ACME⟨U+202E⟩dtl
 * @param options.all reveals joiners and selectors everywhere, because two texts may differ in nothing else
 */
export function revealHidden(text: string, { all = false }: { readonly all?: boolean } = {}): string {
  const kept = all ? new Set<number>() : new Set(Array.from(text.matchAll(needed), ({ index }) => index));
  return text.replaceAll(hidden, (character, index: number) =>
    kept.has(index) ? character : codeOf(character),
  );
}

/** The character's code in Unicode notation. */
function codeOf(character: string): string {
  return `⟨U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}⟩`;
}
