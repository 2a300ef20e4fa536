/**
 * Does something again and again, the first time after `firstMs`, then `intervalMs` after the end of each time.
 * @param work must not reject
 * @returns what ends it, after the work under way
 */
export function repeat(
  { firstMs, intervalMs }: { firstMs: number; intervalMs: number },
  work: () => Promise<void>,
): () => Promise<void> {
  let isStopped = false;
  let timer: NodeJS.Timeout | undefined;
  let working = Promise.resolve();
  const schedule = (afterMs: number) => {
    if (isStopped) return;
    timer = setTimeout(() => {
      working = work().then(() => schedule(intervalMs));
    }, afterMs);
    timer.unref();
  };
  schedule(firstMs);
  return () => {
    isStopped = true;
    clearTimeout(timer);
    return working;
  };
}
