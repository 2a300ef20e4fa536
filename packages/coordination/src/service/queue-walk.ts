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
