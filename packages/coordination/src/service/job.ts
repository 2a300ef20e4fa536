import type { Pool } from '@baton/kernel/database/db';
import type { Context } from './context.ts';

/** Background work; several workers may run the same job at once. See docs/reference/README.md#background-work. */
export interface Job {
  /** The job's name in the log and in the correlation id of its events. */
  readonly name: string;
  /** The maximum number of items of one run; after a full batch the next run starts immediately. */
  readonly batchMax: number;
  /** The maximum pause between two batches, if CP_WORKER_POLL_INTERVAL_SECONDS would be too long. */
  readonly pauseMsMax?: number;
  /** Processes one batch. @returns the number of processed items */
  run(): Promise<number>;
  /** Called once, after the last run: stops work that continues between batches. */
  close?(): Promise<void>;
}

/** The context of a job; `LayerContext` is the context of the job's layer. */
export interface JobTools<LayerContext extends Context & { readonly settings: object }>
  extends Pick<LayerContext, 'settings' | 'log' | 'counters'> {
  readonly pool: Pool;
  /**
   * Runs one unit of work of one tenant in its own transaction. Its events are written in that transaction and have no
   * actor; readers are notified after the commit. After a deadlock or a serialization failure it runs again, up to
   * three times, so `work` must keep no state outside its transaction.
   */
  command<T>(job: string, tenantId: string, work: (context: LayerContext) => Promise<T>): Promise<T>;
}
