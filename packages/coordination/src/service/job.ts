import type { Pool } from '@baton/kernel/database/db';
import type { Context } from './context.ts';

/** Background work (core, section 19). Several workers may run the same job at the same time. */
export interface Job {
  /** Names it in the log and in the correlation id of its events. */
  readonly name: string;
  /** The most items that one run handles; after a full batch the next run starts at once. */
  readonly batchMax: number;
  /** The longest pause between two batches, where CP_WORKER_POLL_INTERVAL_SECONDS would be too long. */
  readonly pauseMsMax?: number;
  /** Handles one batch. @returns how many items were handled */
  run(): Promise<number>;
  /** Called once, after the last run: ends what goes on beside the batches. */
  close?(): Promise<void>;
}

/** What a job works with; `LayerContext` is the context of the layer that the job belongs to. */
export interface JobTools<LayerContext extends Context & { readonly settings: object }>
  extends Pick<LayerContext, 'settings' | 'log' | 'counters'> {
  readonly pool: Pool;
  /**
   * Runs one unit of work of one tenant in a transaction of its own. Its events are written with it and name no actor
   * (core, section 17.1); readers are woken after the commit. After a deadlock or a failed serialisation it runs again, up to
   * three times: `work` keeps nothing outside of its transaction.
   */
  command<T>(job: string, tenantId: string, work: (context: LayerContext) => Promise<T>): Promise<T>;
}
