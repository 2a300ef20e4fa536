import { PlainError } from '../../plain-error.ts';
import { readingBounds } from '../reading.ts';

/** A table of texts, as a file of comma-separated values holds it. */
export interface Table {
  readonly header: readonly string[];
  /** Of each row its cells, and the line on which it begins. */
  readonly rows: readonly { readonly cells: readonly string[]; readonly line: number }[];
}

export const csvBounds = { columnsMax: 500, cellCharactersMax: 1_000_000 } as const;

export const delimiters = [',', ';', '\t', '|'] as const;

/**
 * Reads comma-separated values by RFC 4180: quotes around a cell, doubled inside of one, line breaks within quotes.
 * @param delimiter the one of `delimiters` that the first line has most of, without it
 * @throws PlainError that names the line, for an open quote, text behind a quote, and rows of another width
 */
export function readCsv(text: string, name: string, delimiter = delimiterOf(text)): Table {
  const rows = [...rowsIn(text, name, delimiter)];
  const [first, ...rest] = rows;
  if (first === undefined) throw new PlainError(`${name} is empty.`);
  const header = first.cells.map((cell) => cell.trim());
  for (const { cells, line } of rest)
    if (cells.length !== header.length)
      throw new PlainError(
        `Line ${line} of ${name} has ${cells.length} cells, the header has ${header.length}: is ${JSON.stringify(delimiter)} what stands between (--delimiter)?`,
      );
  return { header, rows: rest };
}

function delimiterOf(text: string): string {
  // What stands within quotes counts for none.
  const line =
    text
      .slice(0, 10_000)
      .replaceAll(/"(?:[^"]|"")*"/g, '')
      .split(/\r?\n/, 1)[0] ?? '';
  const counts = delimiters.map((one) => [line.split(one).length, one] as const);
  return counts.reduce((best, one) => (one[0] > best[0] ? one : best))[1];
}

function* rowsIn(text: string, name: string, delimiter: string): Generator<Table['rows'][number]> {
  const { itemsMax } = readingBounds;
  const { columnsMax, cellCharactersMax } = csvBounds;
  const fault = (line: number, what: string) => new PlainError(`Line ${line} of ${name} ${what}.`);
  let [line, count, at] = [1, 0, 0];
  while (at < text.length) {
    const began = line;
    const cells: string[] = [];
    for (let isLast = false; !isLast; ) {
      let cell = '';
      if (text[at] === '"') {
        const end = closingQuote(text, at + 1);
        if (end === -1) throw fault(line, 'begins a quote that never ends');
        cell = text.slice(at + 1, end).replaceAll('""', '"');
        line += cell.split('\n').length - 1;
        at = end + 1;
      } else {
        const end = endOfCell(text, at, delimiter);
        cell = text.slice(at, end);
        if (cell.includes('"'))
          throw fault(line, 'holds a quote inside of a cell that does not begin with one');
        at = end;
      }
      if (cell.length > cellCharactersMax)
        throw fault(line, `has a cell of more than ${cellCharactersMax} characters`);
      cells.push(cell);
      if (cells.length > columnsMax) throw fault(line, `has more than ${columnsMax} cells`);
      if (text[at] === delimiter) at += 1;
      else if (at >= text.length || text[at] === '\n' || text[at] === '\r') isLast = true;
      else throw fault(line, 'goes on behind a closing quote');
    }
    if (text[at] === '\r') at += 1;
    if (text[at] === '\n') at += 1;
    line += 1;
    if (cells.length === 1 && cells[0] === '') continue;
    count += 1;
    if (count > itemsMax + 1) throw new PlainError(`${name} has more than ${itemsMax} rows.`);
    yield { cells, line: began };
  }
}

/** The quote that ends a cell: one that no other follows. */
function closingQuote(text: string, from: number): number {
  for (let at = text.indexOf('"', from); at !== -1; at = text.indexOf('"', at + 2))
    if (text[at + 1] !== '"') return at;
  return -1;
}

function endOfCell(text: string, from: number, delimiter: string): number {
  let at = from;
  while (at < text.length && text[at] !== delimiter && text[at] !== '\n' && text[at] !== '\r') at += 1;
  return at;
}
