/** Runs `work` on every item, at most `concurrencyMax` at a time; throws the first failure when all have settled. */
export async function forEachConcurrently<Item>(
  items: readonly Item[],
  concurrencyMax: number,
  work: (item: Item) => Promise<unknown>,
): Promise<void> {
  let next = 0;
  let failed = false;
  const workers = Array.from({ length: Math.min(concurrencyMax, items.length) }, async () => {
    while (next < items.length && !failed) {
      const item = items[next] as Item;
      next += 1;
      try {
        await work(item);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  });
  const outcomes = await Promise.allSettled(workers);
  const failure = outcomes.find((outcome) => outcome.status === 'rejected');
  if (failure !== undefined) throw failure.reason;
}
