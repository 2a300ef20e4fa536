import { redactSecrets } from './secret-material.ts';

const eventTextCharactersMax = 1_000;

/**
 * Formats free text for events: secrets are redacted, and the text is cut to 1000 characters, the last of which is an
 * ellipsis.
 */
export function eventText(text: string): string {
  const redacted = redactSecrets(text);
  if (redacted.length <= eventTextCharactersMax) return redacted;
  // Counted in code points, because half of a surrogate pair can't be stored. A code point has at most two units.
  const characters = Array.from(redacted.slice(0, 2 * eventTextCharactersMax + 1));
  if (characters.length <= eventTextCharactersMax) return redacted;
  return `${characters.slice(0, eventTextCharactersMax - 1).join('')}…`;
}
