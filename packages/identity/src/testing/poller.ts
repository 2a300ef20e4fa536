/**
 * Polls a list by its last sequence until `isDone` and the end of the list. @returns all sequences that it received, in
 * order
 */
export async function follow(
  readPage: (after: number) => Promise<number[]>,
  isDone: () => boolean,
): Promise<number[]> {
  const seen: number[] = [];
  for (let last = false; ; ) {
    const page = await readPage(seen.at(-1) ?? 0);
    seen.push(...page);
    if (page.length === 0 && last) return seen;
    last = isDone();
  }
}
