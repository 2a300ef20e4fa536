/** A table parsed from a CSV or TSV file. */
export interface Table {
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
  readonly isCut: boolean;
}

/** An ellipsis replaces further columns. */
const columnsMax = 50;
const cellCharactersMax = 500;

/**
 * Parses a table with a header row (RFC 4180, leniently: a quote inside an unquoted cell is text).
 * @param rowsMax how many rows are returned; the rest are omitted
 */
export function parseTable(text: string, rowsMax: number): Table {
  const separator = separatorOf(text);
  const rows: string[][] = [];
  let row: string[] = [];
  let cell = '';
  let isQuoted = false;
  const endCell = () => {
    if (row.length < columnsMax)
      row.push(cell.length > cellCharactersMax ? `${cell.slice(0, cellCharactersMax)} …` : cell);
    else if (row.length === columnsMax) row.push('…');
    cell = '';
  };
  const endRow = () => {
    endCell();
    if (row.length > 1 || row[0] !== '') rows.push(row);
    row = [];
  };
  for (let at = 0; at < text.length; at += 1) {
    const character = text.charAt(at);
    if (isQuoted) {
      if (character !== '"') cell += character;
      else if (text.charAt(at + 1) === '"') {
        cell += '"';
        at += 1;
      } else isQuoted = false;
    } else if (character === '"' && cell === '') isQuoted = true;
    else if (character === separator) endCell();
    else if (character === '\n') {
      endRow();
      if (rows.length > rowsMax + 1) break;
    } else if (character !== '\r') cell += character;
  }
  if (cell !== '' || row.length > 0) endRow();
  const [head = [], ...body] = rows;
  return { head, rows: body.slice(0, rowsMax), isCut: body.length > rowsMax };
}

/** The separator that occurs most often in the first line. */
function separatorOf(text: string): string {
  const [line = ''] = text.slice(0, 10_000).split('\n', 1);
  const count = (separator: string) => line.split(separator).length;
  return [',', ';', '\t'].reduce((best, one) => (count(one) > count(best) ? one : best));
}
