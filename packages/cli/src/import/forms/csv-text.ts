import { PlainError } from '../../plain-error.ts';
import { readingBounds } from '../read-source.ts';

/** A table of texts from a CSV file. */
export interface Table {
  readonly header: readonly string[];
  readonly rows: readonly TableRow[];
  /** Skipped rows, and the reasons. */
  readonly faults: readonly { readonly line: number; readonly fault: string }[];
  /** Lines above the header, which contain notes about the file. */
  readonly preamble: number;
}

/** The cells of each row, and its first line. */
export interface TableRow {
  readonly cells: readonly string[];
  readonly line: number;
}

export const csvBounds = {
  columnsMax: 500,
  cellCharactersMax: 1_000_000,
  /** The maximum number of rows with invalid quotes: each of them may cost a search for its closing quote. */
  quoteFaultsMax: 1000,
  preambleRowsMax: 20,
} as const;

export const delimiters = [',', ';', '\t', '|'] as const;

export interface CsvForm {
  /** Defaults to the most frequent of `delimiters` in the first line. */
  readonly delimiter?: string;
  /** Whether a row may be the header; if none of the first rows may be, the first row is. */
  readonly isHeader?: (cells: readonly string[]) => boolean;
}

/**
 * Reads comma-separated values as RFC 4180 defines them: quotes around a cell, doubled inside of one, line breaks
 * within quotes. A row with invalid quotes or another number of cells is skipped.
 * @throws PlainError for an empty text, too many rows, and too many errors for a file of this format
 */
export function readCsv(text: string, name: string, { delimiter, isHeader }: CsvForm = {}): Table {
  const faults: { line: number; fault: string }[] = [];
  const rows = [...rowsIn(text, name, delimiter ?? delimiterOf(text), faults)];
  const found = rows.slice(0, csvBounds.preambleRowsMax).findIndex(({ cells }) => isHeader?.(cells) ?? true);
  const preamble = Math.max(found, 0);
  const [first, ...rest] = rows.slice(preamble);
  if (first === undefined && faults.length === 0) throw new PlainError(`${name} is empty.`);
  const header = (first?.cells ?? []).map((cell) => cell.trim());
  const widths = rest.map(({ cells, line }) => {
    const own = widthOf(cells, header.length);
    if (own !== header.length)
      faults.push({
        line,
        fault: `has a different number of cells than the header, which has ${header.length}`,
      });
    return { cells: cells.slice(0, header.length), line, isRight: own === header.length };
  });
  const right = widths.filter(({ isRight }) => isRight).map(({ cells, line }) => ({ cells, line }));
  return { header, rows: right, faults, preamble };
}

/** A row may have more trailing separators than the header. */
function widthOf(cells: readonly string[], width: number): number {
  const isFilled = cells.slice(width).some((cell) => cell.trim() !== '');
  return isFilled ? cells.length : Math.min(cells.length, width);
}

function delimiterOf(text: string): string {
  // Delimiters within quotes don't count.
  const lines = text
    .slice(0, 10_000)
    .replaceAll(/"(?:[^"]|"")*"/g, '')
    .split(/\r?\n/, csvBounds.preambleRowsMax);
  const countIn = (line: string, one: string) => line.split(one).length;
  const line = lines.find((one) => delimiters.some((delimiter) => countIn(one, delimiter) > 1)) ?? '';
  const counts = delimiters.map((one) => [countIn(line, one), one] as const);
  return counts.reduce((best, one) => (one[0] > best[0] ? one : best))[1];
}

interface Place {
  readonly at: number;
  readonly line: number;
}

type ReadRow = Place & ({ readonly cells: readonly string[] } | { readonly fault: string });

function* rowsIn(
  text: string,
  name: string,
  delimiter: string,
  faults: { line: number; fault: string }[],
): Generator<TableRow> {
  const { itemsMax } = readingBounds;
  let count = 0;
  for (let next: Place = { at: 0, line: 1 }; next.at < text.length; ) {
    const { line } = next;
    const row = rowAt(text, next, delimiter);
    next = row;
    if ('cells' in row && row.cells.length === 1 && row.cells[0] === '') continue;
    count += 1;
    if (count > itemsMax + csvBounds.preambleRowsMax)
      throw new PlainError(`${name} has more than ${itemsMax} rows.`);
    if ('cells' in row) yield { cells: row.cells, line };
    else faults.push({ line, fault: row.fault });
    if (faults.length > csvBounds.quoteFaultsMax)
      throw new PlainError(
        `${name} has more than ${csvBounds.quoteFaultsMax} rows that can't be read: is it a CSV file?`,
      );
  }
}

/** Reads one row; also returns the start of the next row or, after an error, of the next line. */
function rowAt(text: string, from: Place, delimiter: string): ReadRow {
  const { columnsMax, cellCharactersMax } = csvBounds;
  const cells: string[] = [];
  let { at, line } = from;
  const faultAt = (place: number, fault: string): ReadRow => {
    const end = text.indexOf('\n', place);
    return { at: end === -1 ? text.length : end + 1, line: line + 1, fault };
  };
  for (;;) {
    let cell = '';
    if (text[at] === '"') {
      const end = closingQuote(text, at + 1);
      if (end === undefined) return faultAt(at, 'opens a quote that is never closed');
      cell = text.slice(at + 1, end).replaceAll('""', '"');
      line += cell.split('\n').length - 1;
      at = end + 1;
    } else {
      const end = endOfCell(text, at, delimiter);
      cell = text.slice(at, end);
      if (cell.includes('"')) return faultAt(at, 'has a quote inside a cell that does not begin with one');
      at = end;
    }
    cells.push(cell);
    if (cell.length > cellCharactersMax)
      return faultAt(at, `has a cell of more than ${cellCharactersMax} characters`);
    if (cells.length > columnsMax) return faultAt(at, `has more than ${columnsMax} cells`);
    if (text[at] !== delimiter) break;
    at += 1;
  }
  const isEnd = at >= text.length || text[at] === '\n' || text[at] === '\r';
  if (!isEnd) return faultAt(at, 'has text after a closing quote');
  if (text[at] === '\r') at += 1;
  if (text[at] === '\n') at += 1;
  return { cells, at, line: line + 1 };
}

/** The quote that ends a cell, which no other quote follows; undefined if it is missing or too far away. */
function closingQuote(text: string, from: number): number | undefined {
  // Every character of a cell may be a doubled quote.
  const limit = from + 2 * csvBounds.cellCharactersMax;
  for (let at = text.indexOf('"', from); at !== -1 && at <= limit; at = text.indexOf('"', at + 2))
    if (text[at + 1] !== '"') return at;
  return undefined;
}

function endOfCell(text: string, from: number, delimiter: string): number {
  let at = from;
  while (at < text.length && text[at] !== delimiter && text[at] !== '\n' && text[at] !== '\r') at += 1;
  return at;
}
