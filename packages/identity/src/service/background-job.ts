import type { Logger } from '@baton/kernel/log';

export interface BackgroundJob {
  /** Until the first time. */
  readonly firstMs: number;
  /** From the end of each time to the start of the next: it never runs beside itself. */
  readonly intervalMs: number;
  readonly log: Logger;
  /** What the log says of a time that failed; the next one comes all the same. */
  readonly failure: string;
  /** @param stopping aborts when no further batch is to begin */
  work(stopping: AbortSignal): Promise<void>;
}

/**
 * Does something in the background again and again, as long as the service runs. That keeps no process alive.
 * @returns what ends it, after the batch under way
 */
export function startJob({ firstMs, intervalMs, log, failure, work }: BackgroundJob): () => Promise<void> {
  const stopping = new AbortController();
  let timer: NodeJS.Timeout;
  let working = Promise.resolve();
  const schedule = (afterMs: number) => {
    timer = setTimeout(() => {
      working = doOnce();
    }, afterMs).unref();
  };
  const doOnce = async () => {
    try {
      await work(stopping.signal);
    } catch (error) {
      log.warn({ err: error }, failure);
    }
    if (!stopping.signal.aborted) schedule(intervalMs);
  };
  schedule(firstMs);
  return () => {
    stopping.abort();
    clearTimeout(timer);
    return working;
  };
}
