const ellipsis = '…';

/**
 * Text from outside, on one line: without control characters, so that it can't begin a header or a line, and without
 * marks that change the direction of the text around it.
 * @returns at most `charactersMax` characters
 */
export function oneLine(text: string, charactersMax: number): string {
  return cut(clean(text).replaceAll(/\s+/g, ' ').trim(), charactersMax);
}

/** Text from outside that keeps its line breaks, but no other control characters. */
export function severalLines(text: string, charactersMax: number): string {
  const lines = text.replaceAll(/\r\n?|[\u2028\u2029]/g, '\n').split('\n');
  return cut(
    lines
      .map((line) => clean(line).trimEnd())
      .join('\n')
      .replaceAll(/\n{3,}/g, '\n\n')
      .trim(),
    charactersMax,
  );
}

function clean(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(/[\u061c\u202a-\u202e\u2066-\u2069\u200e\u200f\ufeff]/g, '')
    .replaceAll(/[\p{Cc}\u2028\u2029]/gu, ' ');
}

function cut(text: string, charactersMax: number): string {
  const characters = [...text];
  return characters.length <= charactersMax
    ? text
    : `${characters
        .slice(0, charactersMax - 1)
        .join('')
        .trimEnd()}${ellipsis}`;
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Escapes text for the content of an element, and for a quoted attribute. */
export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => entities[character] as string);
}
