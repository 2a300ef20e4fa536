/** Runs `work` on every item, at most `abreast` at a time; the first failure is thrown once the others have ended. */
export async function eachOf<Item>(
  items: readonly Item[],
  abreast: number,
  work: (item: Item) => Promise<unknown>,
): Promise<void> {
  let next = 0;
  let failed = false;
  const lanes = Array.from({ length: Math.min(abreast, items.length) }, async () => {
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
  const outcomes = await Promise.allSettled(lanes);
  const failure = outcomes.find((outcome) => outcome.status === 'rejected');
  if (failure !== undefined) throw failure.reason;
}
