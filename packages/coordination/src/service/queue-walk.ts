import type { Logger } from '@baton/kernel/process/log';
import type { Job } from './job.ts';
import { createPutOff } from './put-off.ts';

/** The position of an entry in a queue ordered by time and id. */
export type QueuePosition = readonly [at: string, id: string];

const head: QueuePosition = ['-infinity', '00000000-0000-0000-0000-000000000000'];

export interface QueueWalk<Row> {
  /** The next entries; after the last one, starts from the beginning. */
  next(): Promise<Row[]>;
  /**
   * The result for the job runner: after a full batch, the next one starts immediately, whether or not its entries were
   * handled successfully.
   */
  handledOf(rows: readonly Row[], handled: number): number;
}

/**
 * Walks a queue from start to end repeatedly: entries that fail or that other transactions have locked don't delay the
 * ones after them, regardless of their number. The job pauses between two walks.
 */
export function createWalk<Row>(
  batchMax: number,
  find: (after: QueuePosition) => Promise<Row[]>,
  positionOf: (row: Row) => QueuePosition,
): QueueWalk<Row> {
  let after = head;
  return {
    async next() {
      const rows = await find(after);
      const last = rows.length < batchMax ? undefined : rows.at(-1);
      after = last === undefined ? head : positionOf(last);
      return rows;
    },
    handledOf: (rows, handled) => Math.max(handled, rows.length === batchMax ? batchMax : 0),
  };
}

/**
 * A job that walks a queue of due entries and handles each separately. An entry that fails is postponed and doesn't
 * delay the others.
 * @param queue.find the next entries after a position, at most `batchMax`
 * @param queue.handle handles one entry in its own transaction; 0 when another transaction has locked it
 */
export function createDueJob<Row>(
  { name, batchMax, log }: Pick<Job, 'name' | 'batchMax'> & { log: Logger },
  queue: {
    find(after: QueuePosition): Promise<Row[]>;
    positionOf(row: Row): QueuePosition;
    handle(row: Row): Promise<number>;
  },
): Job {
  const putOff = createPutOff(name, log);
  const walk = createWalk(batchMax, queue.find, queue.positionOf);
  return {
    name,
    batchMax,
    async run() {
      const due = await walk.next();
      let handled = 0;
      for (const row of due) {
        const [, id] = queue.positionOf(row);
        handled += await putOff.attempt(id, () => queue.handle(row));
      }
      return walk.handledOf(due, handled);
    },
  };
}

/**
 * A job that walks a queue of old entries and deletes each batch in one statement, which leaves those that are
 * still needed.
 * @param queue.remove deletes the unused entries of a batch; returns a row for each deleted entry
 */
export function createDeletionJob<Row extends { id: string; tenant_id: string }>(
  { name, batchMax }: Pick<Job, 'name' | 'batchMax'>,
  queue: {
    find(after: QueuePosition): Promise<Row[]>;
    positionOf(row: Row): QueuePosition;
    remove(ids: readonly string[], tenantIds: readonly string[]): Promise<readonly unknown[]>;
  },
): Job {
  const walk = createWalk(batchMax, queue.find, queue.positionOf);
  return {
    name,
    batchMax,
    async run() {
      const old = await walk.next();
      if (old.length === 0) return 0;
      const ids = old.map(({ id }) => id);
      const tenantIds = old.map(({ tenant_id: tenantId }) => tenantId);
      return walk.handledOf(old, (await queue.remove(ids, tenantIds)).length);
    },
  };
}
