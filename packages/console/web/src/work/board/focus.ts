/** The card that contains the focus. */
export function focusedCard(): HTMLElement | undefined {
  return document.activeElement?.closest<HTMLElement>('[data-task]') ?? undefined;
}

/** Moves the focus to a neighbouring card, or to the first card of the board. Empty columns are skipped. */
export function focusCard(columnStep: -1 | 0 | 1, cardStep: -1 | 0 | 1): void {
  const columns = [...document.querySelectorAll('[data-status]')]
    .map((column) => [...column.querySelectorAll<HTMLElement>('[data-task]')])
    .filter((cards) => cards.length > 0);
  const now = focusedCard();
  const column = columns.findIndex((cards) => now !== undefined && cards.includes(now));
  if (now === undefined || column < 0) return columns[0]?.[0]?.querySelector('a')?.focus();
  const cards = columns[column + columnStep] ?? [];
  const at = columnStep === 0 ? cards.indexOf(now) + cardStep : nearest(cards, now);
  const next = cards[at];
  next?.querySelector('a')?.focus();
  next?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
}

/** The index of the card at the same height in another column. */
function nearest(cards: readonly HTMLElement[], now: HTMLElement): number {
  const { top } = now.getBoundingClientRect();
  const distances = cards.map((card) => Math.abs(card.getBoundingClientRect().top - top));
  return distances.indexOf(Math.min(...distances));
}
