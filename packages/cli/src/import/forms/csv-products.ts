import { hasHappened } from '../instants.ts';
import type { LeftOut, Priority, SourceStatus } from '../source.ts';
import { findStatus, plainWord, priorityIn, readResolution, type Words } from '../words.ts';

/** A tracker whose priority numbers have their own meaning. */
export type CsvProduct = 'clickup' | 'ticktick' | undefined;

export function detectCsvProduct(header: readonly string[]): CsvProduct {
  const plain = new Set(header.map(plainWord));
  if (plain.has('is check list') && plain.has('list name')) return 'ticktick';
  const isClickUp = plain.has('task id') && plain.has('task name');
  return isClickUp && ['task content', 'task custom id', 'space name'].some((one) => plain.has(one))
    ? 'clickup'
    : undefined;
}

/** The columns that determine a row's status. */
export interface RowState {
  readonly status: string;
  readonly resolution: string;
  readonly category: string;
  readonly completed: readonly string[];
  readonly cancelled: readonly string[];
  readonly archived: string;
  readonly type: string;
}

/** The status of a row: a date or flag of completion takes precedence over its status column. */
export function rowStatus(
  row: RowState,
  product: CsvProduct,
  words: Words,
  { leftOut, own }: { readonly leftOut: LeftOut; readonly own: string },
): SourceStatus {
  const chosen = words.statuses.get(plainWord(row.status));
  if (chosen !== undefined) return chosen;
  const number = product === 'ticktick' ? tickTickStatus(row.status) : undefined;
  if (number !== undefined && number !== 'open') return number;
  const known = findStatus(row.status, words);
  const end = endOf(row, known, leftOut, own);
  if (end !== undefined) return end;
  if (product === 'ticktick' && /^note$/i.test(row.type)) {
    leftOut.add('is a note, not work: blocked, so it is not offered to agents', own);
    return 'blocked';
  }
  return known ?? 'open';
}

function endOf(
  { resolution, category, completed, cancelled, archived }: RowState,
  known: SourceStatus | undefined,
  leftOut: LeftOut,
  own: string,
): 'done' | 'cancelled' | undefined {
  const happened = (cells: readonly string[]) =>
    cells.some((cell) => {
      const said = hasHappened(cell);
      if (said === undefined)
        leftOut.add('has a completion value that is neither a date nor a yes', `${own}: ${cell}`);
      return said === true;
    });
  const resolved = readResolution(resolution);
  if (known === 'cancelled' || resolved === 'cancelled' || happened(cancelled)) return 'cancelled';
  const isDone = known === 'done' || resolved === 'done' || /^(?:done|completed?)$/i.test(category.trim());
  if (isDone || happened(completed)) return 'done';
  return hasHappened(archived) === true ? 'cancelled' : undefined;
}

/** `0` normal, `1` and `2` completed, `-1` won't do. */
function tickTickStatus(status: string): SourceStatus | undefined {
  const plain = status.trim();
  if (plain === '-1') return 'cancelled';
  if (plain === '1' || plain === '2') return 'done';
  return plain === '0' ? 'open' : undefined;
}

const numberedPriorities: Readonly<Record<'clickup' | 'ticktick', Readonly<Record<string, Priority>>>> = {
  clickup: { '1': 'critical', '2': 'high', '3': 'medium', '4': 'low' },
  ticktick: { '5': 'high', '3': 'medium', '1': 'low' },
};

/** The priority of a row; medium if it has no value. */
export function rowPriority(cell: string, product: CsvProduct): Priority {
  const plain = cell.trim();
  if (product === undefined || !/^\d$/.test(plain)) return priorityIn(plain) ?? 'medium';
  return numberedPriorities[product][plain] ?? 'medium';
}
