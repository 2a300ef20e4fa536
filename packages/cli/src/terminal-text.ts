/** Control and format characters, line and paragraph separators. Joiners stay: Persian and emoji need them. */
const moving = /(?![\t\n\u200C\u200D])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/**
 * Escapes characters of a text that move a terminal's cursor, change its colours or reverse the direction of writing.
 * They become JSON escapes, so that JSON remains the same value.
 * @param text of one or several lines
 */
export function terminalText(text: string): string {
  return text.replaceAll(moving, (character) =>
    Array.from({ length: character.length }, (_, at) => escapeOf(character.charCodeAt(at))).join(''),
  );
}

const escapeOf = (unit: number) => `\\u${unit.toString(16).padStart(4, '0')}`;
