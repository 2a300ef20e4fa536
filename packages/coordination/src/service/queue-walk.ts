import type { Logger } from '@baton/kernel/process/log';
import type { Job } from './job.ts';
import { createPutOff } from './put-off.ts';

/** Where an entry stands in a queue that is ordered by a time and the id. */
export type QueuePosition = readonly [at: string, id: string];

const head: QueuePosition = ['-infinity', '00000000-0000-0000-0000-000000000000'];

export interface QueueWalk<Row> {
  /** The next entries, from the head again after the last. */
  next(): Promise<Row[]>;
  /** For a job's answer: a full batch is followed by the next at once, whatever became of its entries. */
  handledOf(rows: readonly Row[], handled: number): number;
}

/**
 * Walks a queue from its head to its end and then again: entries that can't be handled, or that others have locked, keep
 * none behind them, however many they are. Between two walks a job pauses.
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
 * A job that goes through a queue of due entries again and again, and handles each by itself. One that can't be handled is
 * put off and keeps no other.
 * @param queue.find the next entries behind a position, at most `batchMax`
 * @param queue.handle works on one entry, in a transaction of its own; 0 when others have it locked
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
