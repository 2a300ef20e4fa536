/** Joiners are not removed, because Persian and emoji need them. */
const moving = /(?:(?![\u200C\u200D])[\p{Cc}\p{Cf}])+/gu;

/**
 * Returns another author's text on one line, without characters that move a terminal's cursor, change its colours or
 * reverse text.
 * @example
 * const [first] = (await baton.tasks.list({ limit: 1 })).items;
 * console.log(visible(`${first?.publicId}: ${first?.title}`));
 */
export function visible(text: string): string {
  return text.replaceAll(moving, ' ');
}
