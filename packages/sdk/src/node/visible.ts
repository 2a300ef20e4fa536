/** Joiners stay: Persian and emoji need them. */
const moving = /(?:(?![\u200C\u200D])[\p{Cc}\p{Cf}])+/gu;

/**
 * A text that somebody else wrote, on one line, without what moves the cursor of a terminal, changes its colours or turns text
 * around.
 * @example
 * const [first] = (await baton.tasks.list({ limit: 1 })).items;
 * console.log(visible(`${first?.publicId}: ${first?.title}`));
 */
export function visible(text: string): string {
  return text.replaceAll(moving, ' ');
}
