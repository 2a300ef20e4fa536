import { isUnreachable } from '@baton/kernel/database/db';
import type { Logger } from '@baton/kernel/process/log';

/** Short, because the database may recover at any moment, and a retry is cheap while it is down. */
const unreachableMsMax = 1000;

export interface BackgroundJob {
  /** The wait before the first run. */
  readonly firstMs: number;
  /** The time from the end of a run to the start of the next one: runs never overlap. */
  readonly intervalMs: number;
  readonly log: Logger;
  /**
   * The log message of a run that failed; the next run follows as usual, or within 1 s if the database was unreachable.
   */
  readonly failure: string;
  /** @param stopping aborts when no further batch is to begin */
  work(stopping: AbortSignal): Promise<void>;
}

/**
 * Runs a job in the background at intervals. Its timer doesn't keep the process alive.
 * @returns a function that stops it, after the current batch
 */
export function startJob({ firstMs, intervalMs, log, failure, work }: BackgroundJob): () => Promise<void> {
  const stopping = new AbortController();
  let timer: NodeJS.Timeout;
  let working = Promise.resolve();
  const schedule = (afterMs: number) => {
    timer = setTimeout(() => {
      working = runOnce();
    }, afterMs).unref();
  };
  const runOnce = async () => {
    let waitMs = intervalMs;
    try {
      await work(stopping.signal);
    } catch (error) {
      if (isUnreachable(error)) waitMs = Math.min(intervalMs, unreachableMsMax);
      log.warn({ err: error }, failure);
    }
    if (!stopping.signal.aborted) schedule(waitMs);
  };
  schedule(firstMs);
  return () => {
    stopping.abort();
    clearTimeout(timer);
    return working;
  };
}
