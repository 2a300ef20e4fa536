/**
 * Reads as a poller does: to the end and on, keeping the last sequence that it saw, until `isDone`.
 * @returns all sequences that it was served, in their order
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
