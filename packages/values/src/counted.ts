/** A number with its noun, such as `1 token` or `2 tokens`. */
export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;
