import { PlainError } from '../../plain-error.ts';
import { instantIn } from '../instants.ts';
import { LeftOut, type Link, omitEmpty, type Source, type SourceItem } from '../source.ts';
import { withTurnedBlocks } from '../turned-blocks.ts';
import type { Words } from '../words.ts';
import { labelIn, plainCell, valuesIn } from './csv-cells.ts';
import { type CsvColumns, type CsvField, csvColumns, isTaskHeader, usedColumns } from './csv-columns.ts';
import { type CsvProduct, detectCsvProduct, rowPriority, rowStatus } from './csv-products.ts';
import { kindOfRelation, RowNames, referencesIn } from './csv-references.ts';
import { readCsv, type Table, type TableRow } from './csv-text.ts';

export interface CsvOptions {
  /** Like `title=Summary,status=State`. */
  readonly map?: string;
  readonly delimiter?: string;
  /** The namespace of the ids. */
  readonly source: string;
}

/**
 * Reads comma-separated values with a header; unknown columns become custom fields.
 * @throws PlainError for a mapping to a missing column, if there is no title column or no readable row, and like
 * `readCsv`
 */
export function readCsvTasks(text: string, name: string, words: Words, options: CsvOptions): Source {
  const { map, delimiter, source } = options;
  const table = readCsv(text, name, {
    ...(delimiter !== undefined && { delimiter }),
    isHeader: (cells) => isTaskHeader(cells, map),
  });
  const columns = csvColumns(table.header, map);
  const leftOut = new LeftOut();
  reportTable(table, columns, name, leftOut);
  const rows = rowsOf(table, columns, leftOut);
  const names = new RowNames();
  for (const { own, ids, cell } of rows) names.add(own, ids, cell('title'));
  const product = detectCsvProduct(table.header);
  const used = usedColumns(columns);
  const reading: Reading = { table, used, columns, words, source, product, names, leftOut };
  const read = rows.map((row) => itemOf(row, reading));
  leftOut.requireReadable(read, name, ' Does --delimiter match the file?');
  if (read.length === 0) throw new PlainError(`${name} has no rows.`);
  const items = withTurnedBlocks(withChildren(rows, read, reading));
  return { system: 'csv', type: 'row', items, leftOut };
}

function reportTable(table: Table, columns: CsvColumns, name: string, leftOut: LeftOut): void {
  if (table.preamble > 0) leftOut.add('has lines above its header, which are not rows', 'line 1');
  const hasNamelessValues = table.header.some(
    (header, at) => header === '' && table.rows.some(({ cells }) => cells[at]?.trim() !== ''),
  );
  if (hasNamelessValues) leftOut.add('has a column without a header', name);
  if (columns.id === undefined) leftOut.add('has no id column: rows are identified by their titles', name);
  for (const { line, fault } of table.faults) leftOut.addUnreadable(fault, `line ${line}`);
}

interface Row {
  /** The name of the row: its id, or its title if there are no ids. */
  readonly own: string;
  /** All its ids. */
  readonly ids: readonly string[];
  readonly place: string;
  readonly row: TableRow;
  /** The cell in a field's first column. */
  readonly cell: (field: CsvField) => string;
  /** The cells in all of a field's columns. */
  readonly cells: (field: CsvField) => readonly string[];
}

function rowsOf({ rows }: Table, columns: CsvColumns, leftOut: LeftOut): Row[] {
  const [seen, counts] = [new Set<string>(), new Map<string, number>()];
  const hasId = columns.id !== undefined;
  return rows.flatMap((row) => {
    const cells = (field: CsvField) => (columns[field] ?? []).map((at) => row.cells[at] ?? '');
    const cell = (field: CsvField) => (cells(field)[0] ?? '').trim();
    const ids = cells('id').map(plainCell);
    const title = cell('title');
    const own = hasId ? (ids.find((id) => id !== '') ?? '') : ownTitle(title, seen, counts);
    const place = `line ${row.line}`;
    if (own === '' || seen.has(own)) {
      leftOut.add(
        own === '' ? `has no ${hasId ? 'id' : 'title'}` : 'repeats an id',
        own === '' ? place : `${own}, ${place}`,
      );
      return [];
    }
    if (!hasId && own !== title) leftOut.add('has no id and the same title as another row; imported as', own);
    seen.add(own);
    return [{ own, ids, place, row, cell, cells }];
  });
}

/** A name for a row without an id; repeated titles are numbered. @param counts of rows, by their title */
function ownTitle(title: string, seen: ReadonlySet<string>, counts: Map<string, number>): string {
  let count = (counts.get(title) ?? 0) + 1;
  const name = () => (count === 1 || title === '' ? title : `${title} (${count})`);
  while (title !== '' && seen.has(name())) count += 1;
  counts.set(title, count);
  return name();
}

interface Reading {
  readonly table: Table;
  readonly used: ReadonlySet<number>;
  readonly columns: CsvColumns;
  readonly words: Words;
  readonly source: string;
  readonly product: CsvProduct;
  readonly names: RowNames;
  readonly leftOut: LeftOut;
}

function itemOf(line: Row, reading: Reading): SourceItem {
  const { own, place, cell, cells } = line;
  const { words, source, product, leftOut } = reading;
  const people = peopleIn(cell('assignee'));
  if (people.length > 1)
    leftOut.add('has several assignees: it is assigned to the first one; all are kept in its fields', own);
  const [dueDate, startDate] = datesOf(line, leftOut);
  const named = omitEmpty({
    id: own,
    type: plainCell(cell('type')),
    status: plainCell(cell('status')),
    url: plainCell(cell('url')),
    assignee: people.length > 1 ? people : people[0],
  });
  return {
    id: `${source}/${own}`,
    place,
    title: cell('title'),
    description: plainCell(cell('description')),
    status: rowStatus(
      {
        status: plainCell(cell('status')),
        resolution: plainCell(cell('resolution')),
        category: cell('category'),
        completed: cells('completed'),
        cancelled: cells('cancelled'),
        archived: cell('archived'),
        type: cell('type'),
      },
      product,
      words,
      { leftOut, own },
    ),
    priority: rowPriority(plainCell(cell('priority')), product),
    ...(people[0] !== undefined && { assignee: people[0] }),
    ...(dueDate !== undefined && { dueDate }),
    ...(startDate !== undefined && { startDate }),
    customFields: omitEmpty({
      labels: cells('labels').flatMap(valuesIn).map(labelIn),
      imported: { ...othersOf(line.row, reading, named), ...named },
    }),
    links: linksOf(line, reading),
    comments: [],
  };
}

/** `[ann, bob]` is a list; any other cell is one name, which may contain a comma. */
function peopleIn(cell: string): string[] {
  const plain = plainCell(cell);
  if (/^\s*\[/.test(cell)) return valuesIn(cell);
  return plain === '' ? [] : [plain];
}

/** The due date and the start date; a Notion range (`from → to`) contains both. */
function datesOf({ own, cell }: Row, leftOut: LeftOut): readonly [string | undefined, string | undefined] {
  const range = plainCell(cell('due')).split(/\s*→\s*/, 2);
  const [due = '', from = ''] = range.reverse();
  const dateOf = (text: string, what: string) => {
    const date = instantIn(text);
    if (text !== '' && date === undefined)
      leftOut.add(`has a ${what} date that is not in the format YYYY-MM-DD`, `${own}: ${text}`);
    return date;
  };
  return [dateOf(due, 'due'), dateOf(plainCell(cell('start')) || from, 'start')];
}

function linksOf(line: Row, { columns, source, names, leftOut }: Reading): Link[] {
  const { own, row, cells } = line;
  const linksIn = (texts: readonly string[], type: Link['type']): Link[] =>
    texts
      .flatMap((text) => referencesIn(text, names))
      .flatMap((reference) => {
        if ('isAmbiguous' in reference) {
          leftOut.add('relation refers to a name that several rows have', `${own} → ${reference.text}`);
          return [];
        }
        const kind = reference.own === undefined ? kindOfRelation(reference.text) : undefined;
        const target = kind === undefined ? reference : names.find(kind.to);
        const to = ('own' in target ? target.own : undefined) ?? kind?.to ?? reference.text;
        return [{ to: `${source}/${to}`, type: kind?.type ?? type }];
      });
  // The first column with a value, if several contain the parent.
  const parentCell = (columns.parent ?? [])
    .map((at) => row.cells[at] ?? '')
    .find((text) => plainCell(text) !== '');
  const parents = parentCell === undefined ? [] : linksIn([parentCell], 'parent');
  if (parents.length > 1) leftOut.add('has several parents: the first one is used', own);
  return [
    ...parents.slice(0, 1),
    ...linksIn(cells('depends_on'), 'depends_on'),
    ...linksIn(cells('blocks'), 'blocks'),
    ...linksIn(cells('related_to'), 'related_to'),
  ];
}

/** Some trackers list a row's children instead of its parent. */
function withChildren(
  rows: readonly Row[],
  items: readonly SourceItem[],
  { source, names }: Reading,
): SourceItem[] {
  const parents = new Map<string, string>();
  for (const { own, cells } of rows)
    for (const child of cells('children').flatMap((text) => referencesIn(text, names)))
      if ('own' in child && child.own !== undefined)
        parents.set(`${source}/${child.own}`, `${source}/${own}`);
  return items.map((item) => {
    const to = parents.get(item.id);
    if (to === undefined || item.links.some(({ type }) => type === 'parent')) return item;
    return { ...item, links: [{ to, type: 'parent' }, ...item.links] };
  });
}

/** The values of unknown columns, by their headers; a repeated header has a list. */
function othersOf(
  { cells }: TableRow,
  { table: { header }, used }: Reading,
  named: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const values = new Map<string, string[]>();
  header.forEach((name, at) => {
    const value = cells[at] ?? '';
    if (used.has(at) || name === '' || plainCell(value) === '') return;
    const key = Object.hasOwn(named, name) ? `${name} (column)` : name;
    values.set(key, [...(values.get(key) ?? []), value]);
  });
  return Object.fromEntries([...values].map(([name, all]) => [name, all.length === 1 ? all[0] : all]));
}
